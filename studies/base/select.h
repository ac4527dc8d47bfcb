/* select.h: the options that choose schemes, and the schemes they choose. */
#ifndef TROTTER_SELECT_H
#define TROTTER_SELECT_H

#include "ode/ode.h"
#include "studies/base/option.h"

/* The row of --scheme-file, which all share; --scheme has another default in each command. */
#define SELECT_FILE                                                                              \
    {                                                                                            \
        "scheme-file", OPTION_LIST, NULL, "FILE",                                                \
            "read more schemes, or without --scheme these alone, in the language of schemes", 0, \
            0, .flags = OPTION_SOURCE                                                            \
    }

typedef struct {
    Zoo zoo;
    Table **scheme; /* (count), as named by --scheme, in order */
    size_t count;
    int from_files; /* 1: the schemes are all those of the files, as no scheme was named */
} Selection;

/* Opens the zoo and reads the files of --scheme-file into it; warns where a file's scheme takes a built-in one's name, or looks
 * like a slip. ERR_INPUT. Caller: zoo_close, whatever the code. */
int select_files(const Options *o, Zoo *z);
/* Opens the zoo and the files, and finds the schemes of --scheme, each once; a splitting without suffix takes `solver`.
 * Where files are given and no option names a scheme (--scheme, --encoder, --decoder, --pair), the schemes are all
 * those of the files in place of a default. ERR_INPUT with words for every unusable file or name. */
int select_open(const Options *o, const char *solver, Selection *s);
/* Does the same beside a trained model. --scheme may name the model's scheme `own` (borrowed for the call) too, unless
 * a text of the zoo or of a file has its name. Without --scheme: own, then those of `usual`. If own is a decoder's, a
 * scheme of two colours is taken as a decoder's (zoo_find_decoder). */
int select_beside(const Options *o, const char *solver, const Table *own, const char *usual,
                  Selection *s);
/* Writes the names of the schemes as "A,B,...", cut to `room` bytes with the NUL. */
void select_names(const Selection *s, char *names, size_t room);
/* Sets --scheme, as a default, to the schemes where they are all those of the files, so that config.ini names what was
 * done. */
int select_record(const Selection *s, Options *o);
/* Adds a scheme by name, if none of that name is there. */
int select_add(const char *name, const char *solver, Selection *s);
void select_close(Selection *s);

/* Finds one scheme by its name in the zoo and the files of s; decoder: as one of F, C and G (zoo_find_decoder). Caller:
 * table_free. */
int select_one(const Selection *s, const char *name, const char *solver, int decoder, Table **out);

/* Returns how many of the schemes are decoders', for y' = F + C + G. */
size_t select_decoders(const Selection *s);

#endif
