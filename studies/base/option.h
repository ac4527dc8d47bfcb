/* option.h: the options of a command, as a table that is read four ways.
 *
 * One const table of options gives the command line (getopt_long), --help (help.h), the lines of an INI file that
 * replays a run, and the metadata of a saved model. A value is kept as the text that was given, checked once, so that a
 * recorded number is the number that was used. Its source has a rank: the command line overrides a file, and a file
 * overrides the default.
 */
#ifndef TROTTER_OPTION_H
#define TROTTER_OPTION_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/base/scoped.h"

enum {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_SIZE,
    OPTION_REAL,
    OPTION_CHOICE,
    OPTION_LIST,
    OPTION_SIZES, /* numbers separated by commas, each in the range */
    OPTION_REALS
};
enum { OPTION_ALIASES = 2 };
enum { OPTION_DEFAULT, OPTION_FILE, OPTION_ARGUMENT }; /* ranks */
/* Flags. An option without any is part of a run's identity: a run cannot go on with another value of it. */
enum {
    OPTION_MAY_DIFFER = 1, /* a run may go on with another value */
    OPTION_LENGTH = 2,     /* so may this one, unless the run's rates depend on its end */
    OPTION_SOURCE = 4,     /* names a file; what the file holds is recorded elsewhere */
    OPTION_MAP = 8         /* decides the function of the weights; metadata must have it */
};

/* A member of a record as data, which the value of an option sets (options_fill). */
enum {
    MEMBER_NONE,
    MEMBER_INT,
    MEMBER_LONG,
    MEMBER_SIZE /* size_t, uint64_t */,
    MEMBER_REAL /* double */
};
typedef struct {
    size_t at; /* offset in the record */
    int type;  /* MEMBER_* */
} Member;
/* clang-format off */
#define MEMBER(Record, member)                                                                             \
    {offsetof(Record, member),                                                                             \
     _Generic(((Record *)0)->member, int: MEMBER_INT, long: MEMBER_LONG, size_t: MEMBER_SIZE, double: MEMBER_REAL)}
/* clang-format on */

typedef struct {
    const char *name;    /* without the leading -- */
    int type;            /* LIST: may be given several times */
    const char *initial; /* default, as a text; NULL: none */
    const char *values;  /* CHOICE: "stream|sentence"; others: the word for the value in --help */
    const char *help;
    double low, high; /* SIZE, REAL and lists of them: range, both ends included */
    /* The members below are set by designators; those that a row leaves out are 0. */
    /* The value where none is given, if it is not to be recorded; initial is then NULL. */
    const char *otherwise;
    const char *needs; /* an option without which this one has no meaning */
    unsigned flags;    /* bits of the flags above */
    /* Other names, on a command line and in a file; NULL where there are fewer. Records and messages use `name`. */
    const char *alias[OPTION_ALIASES];
    Member sets[2]; /* the members that the value sets in the record of options_fill */
} Option;

typedef struct {
    const char *title;    /* in --help; NULL: goes on with the group before */
    int recorded;         /* 1: written to config.ini, and so to metadata */
    const Option *option; /* ends with a NULL name */
} OptionGroup;
/* Options, written where their group is; a group in a list of groups that no other list has; and such a list. */
#define OPTIONS(...) ((const Option[]){__VA_ARGS__, {0}})
#define OPTION_GROUP(title, recorded, ...) \
    ((const OptionGroup[]){{title, recorded, OPTIONS(__VA_ARGS__)}})
#define GROUPS(...) ((const OptionGroup *const[]){__VA_ARGS__, NULL})

/* Returns the option of this name, or other name, among groups up to NULL; NULL: there is none. */
const Option *option_named(const OptionGroup *const *groups, const char *name);

enum { OPTION_VALUE = 32 }; /* bytes of the text of a choice */
/* option_index returns the index of a text among the values of a choice, "a|b|c", or -1. option_value writes the text
 * of an index, "" past the end. */
int option_index(const char *values, const char *text);
void option_value(const char *values, int index, char out[OPTION_VALUE]);

/* `help`, -h for short, belongs to every command. Its value is HELP_SCREEN where no word follows it. */
#define HELP_SCREEN "-"
extern const OptionGroup options_common;

/* Groups are a list ended by NULL, borrowed until options_free. */
typedef struct Options Options;
int options_new(const OptionGroup *const *groups, Options **out);
void options_free(Options *o);
DROP(Options, options)

/* Reads argv[1 ..]. Words without -- are items of the list `file`, where the table has one, in the order given.
 * Of an option other than a list that is given twice the last value holds. ERR_INPUT with one line of words for what is
 * unknown, missing or out of range. */
int options_arguments(Options *o, int argc, char **argv);
/* Reads an INI file (no sections) by the same rules, except that an option that it gives twice with different values is
 * ERR_INPUT; messages begin with FILE:LINE. */
int options_read(Options *o, const char *file);
/* Reads a text in that form; messages begin with WHERE:LINE. */
int options_parse(Options *o, const char *where, const char *text);
/* Gives the lines 'name = value' of a text in that form to `take`, until it returns 0. Returns 0, or the line that is not of this
 * form or where it ended, or < 0: out of memory. */
int options_lines(const char *text,
                  int (*take)(void *arg, const char *section, const char *name, const char *value),
                  void *arg);
/* Sets one value from elsewhere; `where` begins the message. ERR_INPUT for a name that is no option. */
int options_set(Options *o, int rank, const char *where, const char *name, const char *text);

/* Sets, with the same rank, the options that `from` got on the command line and that o knows too. */
int options_given(Options *o, const Options *from);

/* Returns ERR_INPUT "--NAME has no meaning for WHERE" where an option of none of the groups was given on the command
 * line. */
int options_within(const Options *o, const OptionGroup *const *groups, const char *where);

/* Returns ERR_INPUT "expected --NAME or --OTHER, not both" where both are on: a flag that is set, a size above 0, a text.
 * others: one or several names, blanks between them. */
int options_either(const Options *o, const char *name, const char *others);
/* Returns ERR_INPUT "--NAME has no meaning without --OTHER" where NAME was given on the command line and OTHER, which
 * its row needs, is off. */
int options_needs(const Options *o);

/* Writes every recorded option that has a value and none of the flags `but`, one line `name = value` each. */
int options_write(const Options *o, unsigned but, FILE *f);
/* Gives the i-th recorded option with a value; returns 0 past the end. Each item of a list counts. */
int options_recorded(const Options *o, size_t i, const Option **option, const char **text);

/* Returns the i-th option whose value is its row's `otherwise`: none was given, and the option that it needs is on.
 * NULL past the end. */
const Option *options_otherwise(const Options *o, size_t i);

/* Returns 1 where the values of recorded options without any of the flags `but` differ (as numbers where they are
 * numbers). words (NULL: not asked): "--rate 0.1, now 0.2; --clip 0, now 3", the values of `there` and of o, which have
 * the same groups. */
enum { OPTION_WORDS = 640 };
int options_differ(const Options *o, const Options *there, unsigned but, char words[OPTION_WORDS]);

/* Sets the members of a record that the rows of these groups name, from the values of those options that o knows: a
 * choice as its index, a flag as 0 or 1. */
void options_fill(const Options *o, const OptionGroup *const *groups, void *record);

/* These return values; the name must be in the table (asserted) and of the type. TEXT, CHOICE: NULL without a value. A
 * number without one is its row's `otherwise`, or 0; options_text returns only what was given or is the default.
 * options_choice: index in `values`. */
const char *options_text(const Options *o, const char *name);
size_t options_size(const Options *o, const char *name);
double options_real(const Options *o, const char *name);
int options_flag(const Options *o, const char *name);
int options_choice(const Options *o, const char *name);
const char *options_item(const Options *o, const char *name, size_t i); /* NULL past the end */
/* Writes the i-th number of SIZES or REALS as it was given; returns 0 past the end. */
int options_part(const Options *o, const char *name, size_t i, char part[32]);
int options_known(const Options *o, const char *name); /* 1: in the table */
int options_rank(const Options *o, const char *name);  /* OPTION_DEFAULT: it was not given */

#endif
