/* select.h: the options that choose schemes, and the schemes they choose. */
#ifndef TROTTER_SELECT_H
#define TROTTER_SELECT_H

#include "ode/ode.h"
#include "studies/tools/option.h"

/* --scheme-file, shared by all; --scheme has another default in each command. */
#define SELECT_FILE                                                                    \
    {                                                                                  \
        "scheme-file", OPTION_LIST, NULL, "FILE",                                      \
            "more schemes, in the language of schemes; without --scheme: these", 0, 0, \
            .flags = OPTION_SOURCE                                                     \
    }

typedef struct {
    Zoo zoo;
    Table **scheme; /* (count), as named by --scheme, in order */
    size_t count;
    int from_files; /* 1: they are the files' own, none being named */
} Selection;

/* Opens the zoo and the files, finds the schemes of --scheme, each once; a splitting without suffix takes
 * `solver`. Where files are given and nothing names a scheme (--scheme, nor --encoder, --decoder, --pair), these are all of
 * the files in place of a default. Every unusable file or name: ERR_INPUT with words. */
int select_open(const Options *o, const char *solver, Selection *s);
/* The same beside a trained model, whose scheme `own` (borrowed for the call) --scheme may name too, unless a
 * text of the zoo or of a file has its name. Without --scheme: own, then those of `usual`. Beside a decoder's own a
 * scheme of two colours is taken as a decoder's (zoo_find_decoder). */
int select_beside(const Options *o, const char *solver, const Table *own, const char *usual,
                  Selection *s);
/* "A,B,..." of the schemes, cut to `room` bytes with the NUL. */
void select_names(const Selection *s, char *names, size_t room);
/* Sets --scheme, as a default, to schemes that are the files' own, so that config.ini names what was done. */
int select_record(const Selection *s, Options *o);
/* Adds a scheme by name, if none of that name is there. */
int select_add(const char *name, const char *solver, Selection *s);
void select_close(Selection *s);

/* One scheme by its name in the zoo and the files of s, `decoder` one of F, C and G (zoo_find_decoder). Caller:
 * table_free. */
int select_one(const Selection *s, const char *name, const char *solver, int decoder, Table **out);

/* How many of the schemes are decoders', of y' = F + C + G. */
size_t select_decoders(const Selection *s);

#endif
