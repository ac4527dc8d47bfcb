/* text.h: the text of a number that a macro stands for, so that texts of help and tables need not repeat it. */
#ifndef TROTTER_TEXT_H
#define TROTTER_TEXT_H

/* TEXT(N) is "8" after #define N 8. */
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

#endif
