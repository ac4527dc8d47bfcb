/* parsed.h: a JSON text is read whole or refused.
 *
 * Short of memory, jansson 2.14 drops a character of a name or a value and goes on, or calls it invalid. So a function
 * stands before jansson's malloc (json_set_alloc_funcs) and notes for each thread that memory was refused. No lock is held,
 * which a child after fork() might wait for. */
#ifndef TROTTER_PARSED_H
#define TROTTER_PARSED_H

#include <jansson.h>

/* Reads a text of n bytes without a name twice in an object. Caller: json_decref(*root), NULL unless 0 is returned.
 * ERR_MEMORY with words; ERR_INPUT, where *e says what is wrong and the caller finds the words. */
int parsed_json(const char *text, size_t n, json_error_t *e, json_t **root);
/* Reads the object or array that a text begins with; *used out: its bytes, and what blanks stand before it. */
int parsed_next(const char *text, size_t n, json_error_t *e, json_t **root, size_t *used);
/* Reads a text that may be a word or a number of JSON alone. */
int parsed_value(const char *text, json_t **root);

#endif
