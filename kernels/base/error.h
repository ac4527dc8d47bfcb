/* error.h: the list of all failures.
 *
 * A fallible function returns int: 0 done; > 0 an outcome the caller may act on (its arguments are
 * untouched); < 0 misuse or environment. Library code never prints, exits or aborts on data: it
 * calls error_set, which keeps one line of words for the command that reports it.
 *
 *     TRY(corpus_open(&c, dir));            passes a failure up
 *     return error_set(ERR_INPUT, "%s:%zu: expected '='", file, line);
 */
#ifndef TROTTER_ERROR_H
#define TROTTER_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, exit status of a command that ends with it, text) */
#define ERROR_LIST(X)                                                  \
    X(ERR_NONE, 0, 0, "done")                                          \
    X(ERR_INPUT, -1, 2, "something given is unusable")                 \
    X(ERR_MEMORY, -2, 1, "out of memory")                              \
    X(ERR_SYSTEM, -3, 1, "a file or system call failed")               \
    X(ERR_MISUSE, -4, 1, "a function was called outside its contract") \
    X(ERR_NUMERIC, 1, 1, "a value is not finite")                      \
    X(ERR_ACCURACY, 2, 1, "the wanted accuracy was not reached")       \
    X(ERR_CHECK, 3, 1, "a check was not met")                          \
    X(ERR_INTERRUPTED, 4, 130, "interrupted")

enum {
#define X(name, value, status, text) name = value,
    ERROR_LIST(X)
#undef X
};

/* Keeps one line of words (printf style, at most 1023 bytes) for this thread and returns `code`. */
int error_set(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the last line kept in this thread ("" if none). Borrowed until the next error_set. */
const char *error_text(void);

/* Return the text of a code, and the exit status of a command that ends with it. */
const char *error_name(int code);
int error_status(int code);

#define TRY(call)                             \
    do {                                      \
        int try_code_ = (call);               \
        if (try_code_ != 0) return try_code_; \
    } while (0)

/* Refuses what a caller in C may not do: ERR_MISUSE, and the condition as its words. */
#define NEED(condition)                                                                     \
    do {                                                                                    \
        if (!(condition))                                                                   \
            return error_set(ERR_MISUSE, "%s: it is not so that %s", __func__, #condition); \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
