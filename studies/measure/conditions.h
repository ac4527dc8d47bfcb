/* conditions.h: the order conditions of one-step schemes as formulas. */
#ifndef TROTTER_CONDITIONS_H
#define TROTTER_CONDITIONS_H

#include <stdio.h>

#include "studies/tools/select.h"
#include "studies/tools/sheet.h"

typedef struct {
    const char *scheme, *condition, *left, *right;
    int order, holds;
} ConditionRow;

/* Calls `take` with the row of each condition of order 1 .. degree, whose texts live as long as the call; latex: the
 * condition is for LaTeX. ERR_INPUT: another than a one-step scheme of stages H. */
typedef int ConditionTaker(void *to, const ConditionRow *row);
int conditions_each(const Table *t, int degree, int latex, ConditionTaker *take, void *to);

/* Adds a row of condition_columns for each condition and each scheme, or writes them as LaTeX (align* of amsmath), where
 * latex is not NULL. */
extern const Column condition_columns[];
int conditions_tell(const Selection *s, int degree, Sheet *r, FILE *latex);

#endif
