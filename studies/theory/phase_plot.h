/* phase_plot.h: curves of dispersion and dissipation of schemes along the imaginary axis. */
#ifndef TROTTER_PHASE_PLOT_H
#define TROTTER_PHASE_PLOT_H

#include "ode/scheme/table.h"
#include "studies/tools/sheet.h"

/* The columns of phase.csv. */
extern const Column phase_columns[];

/* Writes DIR/phase.csv and draws the plots phase, phase-2, ... of frozen tables (count). imag: ends of their stability
 * intervals on the imaginary axis. curveless: the reason why a table has no curve, for the key, or NULL. */
int phase_save(Table *const *table, size_t count, const double *imag, const char *const *curveless,
               const char *dir);

#endif
