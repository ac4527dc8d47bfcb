/* frames.h: the particles of a system at some times, as small pictures beside each other. */
#ifndef TROTTER_FRAMES_H
#define TROTTER_FRAMES_H

#include "studies/measure/choose.h"
#include "studies/tools/sheet.h"

/* The columns of frames.csv. */
extern const Column frame_columns[];

/* Writes DIR/frames.csv and draws the plot frames: the particles at `count` times from 0 to t_end (0: the system's
 * default), in equal steps. It shows their first two coordinates, coloured by the third or, without a third, by their
 * number. The states are those of the reference solution, to 1e-6. A system of one coordinate: ERR_INPUT. */
int frames_study(const SystemChoice *system, double t_end, size_t count, const char *dir);

#endif
