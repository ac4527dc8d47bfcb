/* request.c: addresses as clients send them (studies/page/serve/request.c): what is answered 200 leads nowhere else. */
#include "studies/page/serve/serve.h"
#include "tests/fuzz/fuzz.h"

/* The input is HOST, a NUL, and what stands behind the token. */
FUZZ()
{
    static const Door door = {"0123456789abcdef0123456789abcdef", 8000};
    Request r;
    const char *words = NULL;
    char *text = memory_new(size + 1, 1), *address = memory_new(size + 64, 1);
    FUZZ_CHECK(text && address);
    memcpy(text, data, size);
    const char *behind = strlen(text) < size ? text + strlen(text) + 1 : text;
    snprintf(address, size + 64, "/%s/%s", door.token, behind);
    int status = request_read(&door, "GET", "localhost:8000", address, &r, &words);
    FUZZ_CHECK(words && (status == 200 || (status >= 400 && status < 415)));
    if (status == 200) {
        unsigned fields = r.resource->fields;
        FUZZ_CHECK(!(fields & FIELD_PATH) ||
                   (path_allowed(r.path) && *r.path != '/' && !strstr(r.path, "/../")));
        FUZZ_CHECK(strlen(r.path) <= PATH_MOST && strlen(r.text) <= TEXT_MOST);
        FUZZ_CHECK(!(fields & FIELD_TEXT) || *r.text);
    }
    /* the same with the input's Host, and the input as the whole address */
    int other = request_read(&door, "GET", text, address, &r, &words);
    FUZZ_CHECK(other == status || other == 403);
    FUZZ_CHECK(request_read(&door, text, "localhost:8000", address, &r, &words) != 200 ||
               strcmp(text, "GET") == 0 || strcmp(text, "HEAD") == 0);
    FUZZ_CHECK(request_read(&door, "GET", "localhost:8000", behind, &r, &words) == 403 ||
               strstr(behind, door.token) == behind + 1);
    memory_free(text);
    memory_free(address);
}
