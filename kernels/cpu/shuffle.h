/* shuffle.h: takes lanes of two vectors, as one instruction where the processor has one.
 *
 * SHUFFLE(Vector, lanes, x, y, at): lane l of the result is lane at[l] of x, or lane at[l] - lanes of y from `lanes` on; at has to
 * be known to the compiler. gcc has a built-in for it. clang has none that takes a vector of places, and makes the same
 * instruction of a loop over lanes.
 */
#ifndef TROTTER_SHUFFLE_H
#define TROTTER_SHUFFLE_H

#ifdef __clang__
#define SHUFFLE(Vector, lanes, x, y, at)                                                   \
    __extension__({                                                                        \
        Vector shuffled;                                                                   \
        _Pragma("clang loop unroll(full)") for (int l = 0; l < (lanes); l++) shuffled[l] = \
            at[l] < (lanes) ? (x)[at[l]] : (y)[at[l] - (lanes)];                           \
        shuffled;                                                                          \
    })
#else
#define SHUFFLE(Vector, lanes, x, y, at) __builtin_shuffle(x, y, at)
#endif

#endif
