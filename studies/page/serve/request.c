/* request.c: decides whether a request is answered, and reads its address. Percent-encoding: RFC 3986, section 2.1. */
#include "studies/page/serve/serve.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "kernels/base/error.h"

static const char csv[] = "text/csv; charset=utf-8", html[] = "text/html; charset=utf-8";

static const Resource resources[] = {
    {"", ASK_PAGE, 0, html, NULL},
    {"report.css", ASK_REPORT_STYLE, 0, "text/css; charset=utf-8", NULL},
    {"page.css", ASK_STYLE, 0, "text/css; charset=utf-8", NULL},
    {"page.js", ASK_SCRIPT, 0, "text/javascript; charset=utf-8", NULL},
    {"scheme.js", ASK_SCHEME, 0, "text/javascript; charset=utf-8", NULL},
    {"report", ASK_WORK, 0, html, file_report},
    {"files", ASK_WORK, 0, csv, file_list},
    {"trainings", ASK_WORK, 0, csv, file_trainings},
    {"file", ASK_FILE, FIELD_PATH | FIELD_FROM, csv, NULL},
    {"check", ASK_WORK, FIELD_TEXT, html, place_check},
    {"region", ASK_WORK, FIELD_TEXT, csv, place_region},
    {"order", ASK_WORK, FIELD_TEXT, csv, place_order},
};

/* ---- who asks ------------------------------------------------------------------------------------ */

int door_lock(Door *d)
{
    static const char digit[] = "0123456789abcdef";
    uint8_t bits[TOKEN_DIGITS / 2];
    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return error_set(ERR_SYSTEM, "random numbers for the address: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bits; i++) {
        d->token[2 * i] = digit[bits[i] >> 4];
        d->token[2 * i + 1] = digit[bits[i] & 15];
    }
    d->token[TOKEN_DIGITS] = '\0';
    return 0;
}

/* Compares all digits, so that the time tells nothing of the first that differs. */
static int same_token(const char *given, const char *token)
{
    unsigned differs = 0;
    for (size_t i = 0; i < TOKEN_DIGITS; i++) differs |= (unsigned char)(given[i] ^ token[i]);
    return differs == 0;
}

static int own_host(const Door *d, const char *host)
{
    char name[2][32];
    snprintf(name[0], sizeof *name, "127.0.0.1:%u", d->port);
    snprintf(name[1], sizeof *name, "localhost:%u", d->port);
    return host && (strcmp(host, name[0]) == 0 || strcmp(host, name[1]) == 0);
}

/* ---- what is asked ------------------------------------------------------------------------------- */

static int hex(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                        : -1;
}

/* Decodes n bytes into out (room + 1). Returns 0 where a '%' begins no two digits, a NUL is among them, or they are too
 * many. */
static int decode(const char *s, size_t n, char *out, size_t room)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++, m++) {
        if (m == room) return 0;
        out[m] = s[i];
        if (s[i] != '%') continue;
        int high = i + 2 < n ? hex(s[i + 1]) : -1, low = i + 2 < n ? hex(s[i + 2]) : -1;
        if (high < 0 || low < 0 || high + low == 0) return 0;
        out[m] = (char)(high << 4 | low);
        i += 2;
    }
    out[m] = '\0';
    return 1;
}

static int read_number(const char *s, size_t n, size_t *out)
{
    *out = 0;
    if (n > 15) return 0;
    for (size_t i = 0; i < n; i++) {
        if (!isdigit((unsigned char)s[i])) return 0;
        *out = *out * 10 + (size_t)(s[i] - '0');
    }
    return 1;
}

/* Reads NAME=VALUE (n bytes). Returns its bit of FIELD_*; 0: malformed. */
static unsigned read_field(const char *s, size_t n, Request *out)
{
    if (n > 5 && memcmp(s, "path=", 5) == 0)
        return decode(s + 5, n - 5, out->path, PATH_MOST) && path_allowed(out->path) ? FIELD_PATH
                                                                                     : 0;
    if (n > 5 && memcmp(s, "text=", 5) == 0)
        return decode(s + 5, n - 5, out->text, TEXT_MOST) ? FIELD_TEXT : 0;
    if (n > 5 && memcmp(s, "from=", 5) == 0)
        return read_number(s + 5, n - 5, &out->from) ? FIELD_FROM : 0;
    return 0;
}

/* Reads "a=b&c=d", where every field that is wanted stands once. */
static int read_query(const char *s, unsigned wanted, Request *out)
{
    unsigned found = 0;
    while (*s) {
        size_t n = strcspn(s, "&");
        unsigned field = read_field(s, n, out);
        if (!field || found & field) return 0;
        found |= field;
        s += n + (s[n] == '&');
    }
    return found == wanted;
}

static const Resource *find_resource(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
        if (strlen(resources[i].name) == n && memcmp(resources[i].name, name, n) == 0)
            return &resources[i];
    return NULL;
}

int request_read(const Door *d, const char *method, const char *host, const char *address,
                 Request *out, const char **words)
{
    *out = (Request){0};
    *words = "only GET and HEAD are answered";
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) return 405;
    *words = "this is no address of this server";
    if (!own_host(d, host)) return 403;
    size_t bytes = strnlen(address, ADDRESS_MOST + 1);
    if (bytes > TOKEN_DIGITS + 1 && address[0] == '/' && address[TOKEN_DIGITS + 1] == '/') {
        if (!same_token(address + 1, d->token)) return 403;
    } else {
        return 403;
    }
    *words = "the address is too long; a longer scheme is for `trotter schemes --scheme-file`";
    if (bytes > ADDRESS_MOST) return 414;
    const char *name = address + TOKEN_DIGITS + 2, *query = name + strcspn(name, "?");
    *words = "there is nothing of this name";
    out->resource = find_resource(name, (size_t)(query - name));
    if (!out->resource) return 404;
    *words = "the address is malformed, or asks for what this server does not show";
    return read_query(*query ? query + 1 : query, out->resource->fields, out) ? 200 : 400;
}
