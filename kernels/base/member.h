/* member.h: a member of a record as data, so that a list of members can fill or print a record in one loop.
 *
 *   static const Member rate = MEMBER(Recipe, adam.rate);
 */
#ifndef TROTTER_MEMBER_H
#define TROTTER_MEMBER_H

#include <stddef.h>

enum {
    MEMBER_NONE,
    MEMBER_INT,
    MEMBER_LONG,
    MEMBER_SIZE,  /* size_t, uint64_t */
    MEMBER_REAL,  /* double */
    MEMBER_SIZES, /* an array of size_t */
};

typedef struct {
    size_t at; /* offset in the record */
    int type;  /* MEMBER_* */
} Member;

#define MEMBER(Record, member)                                                               \
    {                                                                                        \
        offsetof(Record, member),                                                          \
            _Generic(((Record *)0)->member, int: MEMBER_INT, long: MEMBER_LONG,            \
                     size_t: MEMBER_SIZE, double: MEMBER_REAL, const size_t *: MEMBER_SIZES, size_t *: MEMBER_SIZES) \
    }

#endif
