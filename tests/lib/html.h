/* html.h: judges of a piece of HTML as the program writes it: it has lower-case tags and quoted attributes, and
 * ends every element. */
#ifndef TROTTER_TEST_HTML_H
#define TROTTER_TEST_HTML_H

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HTML_PICTURE " src=\"data:image/svg+xml;base64,"

/* Returns the length of the element's name at s. */
static inline size_t html_name_length(const char *s)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '!') n++;
    return n;
}

static inline int html_is_void(const char *name, size_t n)
{
    static const char *const words[] = {"meta", "img", "wbr", "!DOCTYPE"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && memcmp(name, words[i], n) == 0) return 1;
    return 0;
}

/* Returns the end of the tag at s, the '>' outside quotes; NULL where there is none or a '<' comes before
 * it. */
static inline const char *html_tag_end(const char *s)
{
    char quote = '\0';
    for (s++; *s; s++) {
        if (quote && *s == quote)
            quote = '\0';
        else if (!quote && (*s == '"' || *s == '\''))
            quote = *s;
        else if (!quote && *s == '>')
            return s;
        else if (!quote && *s == '<')
            return NULL;
    }
    return NULL;
}

/* Checks that every tag ends, every element ends in order and every '&' begins an entity. Returns NULL, or the
 * place where that fails. */
static inline const char *html_unbalanced(const char *page)
{
    struct {
        const char *name;
        size_t n;
    } open[64];
    size_t depth = 0;
    const char *s = page;
    for (; *s; s++) {
        if (*s == '&' && !s[1 + strcspn(s + 1, "; <&")]) return s;
        if (*s == '&' && s[1 + strcspn(s + 1, "; <&")] != ';') return s;
        if (*s != '<') continue;
        const char *end = html_tag_end(s), *name = s + 1 + (s[1] == '/');
        size_t n = html_name_length(name);
        if (!end || n == 0) return s;
        if (s[1] == '/') {
            if (depth-- == 0 || open[depth].n != n || memcmp(open[depth].name, name, n) != 0)
                return s;
        } else if (end[-1] != '/' && !html_is_void(name, n)) {
            if (depth == 64) return s;
            open[depth].name = name;
            open[depth++].n = n;
        }
        s = end;
    }
    return depth ? s : NULL;
}

/* Copies a tag and blanks out all that stands in quotes. */
static inline void html_names(const char *tag, char *names)
{
    char quote = '\0';
    for (; *tag; tag++, names++) {
        int ends = quote ? *tag == quote : *tag == '"' || *tag == '\'';
        *names = quote && !ends ? '_' : *tag;
        if (ends) quote = quote ? '\0' : *tag;
    }
    *names = '\0';
}

/* Returns the first tag that a page without other files cannot have, or NULL. It looks for elements and
 * attributes by their names and for addresses in values. Words are free, and images must be drawings in the
 * page's bytes. */
static inline const char *html_reaching_out(const char *page)
{
    static const char *const named[] = {"<script", "<style>@", "<link", "<iframe",
                                        "<object", "<embed",   "<base", "<form",
                                        "<svg",    " srcset=", " on",   "<foreign"};
    for (const char *s = strchr(page, '<'); s; s = strchr(s + 1, '<')) {
        const char *end = html_tag_end(s);
        if (!end) return s;
        size_t n = (size_t)(end - s);
        char *tag = strndup(s, n), *names = malloc(n + 1); /* whole: a picture may be long */
        int reaches = !tag || !names;
        if (!reaches) html_names(tag, names);
        for (size_t i = 0; i < sizeof named / sizeof *named && !reaches; i++)
            reaches = strcasestr(names, named[i]) != NULL;
        if (!reaches) reaches = strcasestr(tag, "javascript:") || strcasestr(tag, "url(");
        const char *href = reaches ? NULL : strstr(names, "href=");
        if (href && strncmp(tag + (href - names), "href=\"#", 7) != 0) reaches = 1;
        const char *src = reaches ? NULL : strstr(names, " src=");
        if (src && strncmp(tag + (src - names), HTML_PICTURE, strlen(HTML_PICTURE)) != 0)
            reaches = 1;
        free(tag);
        free(names);
        if (reaches) return s;
    }
    return NULL;
}

#endif
