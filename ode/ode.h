/* ode.h: integrators and particle systems, all rooms of ode/ in the order in which data pass. Nothing here knows of
 * networks. Conventions: error = numerical - exact; order p means local error O(h^(p+1)); [F,G] = G'F - F'G.
 *
 * Codes: an int is 0 for done, or an ERR_* of kernels/base/error.h, unless the comment says what number it is;
 * error_text() has the words of a failure. ERR_MEMORY can come from whatever allocates, so comments name the other
 * codes alone.
 *
 * From a text to facts and steps: zoo_find reads a built-in scheme by name, zoo_read a file of one's own, scheme_parse
 * and butcher_parse a text (scheme.h); each makes a Table. Most functions take it frozen, as a copy with numbers for its
 * learned names:
 *
 *     table_freeze     for steps (stepper_new, order_predict), series and forests of theory.h. Coefficients stay as
 *                      written.
 *     theory_freeze    for stability_*, phase_find and theory_is_zero. In addition it searches the order, and where
 *                      fractions turn out to be roundings it marks the table inexact, so that 1e-17 beside 1 is nothing.
 *
 * These take the table as it was read, and freeze a copy themselves: theory_search, theory_embedded, dense_find,
 * stability_blind, blind_words, order_measure. adapt_run takes it so too, as a pair has no learned names. */
#ifndef TROTTER_ODE_H
#define TROTTER_ODE_H

#include "ode/scheme/scheme.h"
#include "ode/theory/theory.h"
#include "ode/field/field.h"
#include "ode/systems/systems.h"
#include "ode/step/events.h"
#include "ode/measure/measure.h"

#endif
