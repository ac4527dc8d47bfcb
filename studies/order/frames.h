/* frames.h: the particles of a system at some times, as small pictures beside each other. */
#ifndef TROTTER_FRAMES_H
#define TROTTER_FRAMES_H

#include "studies/measure/choose.h"
#include "studies/tools/sheet.h"

/* The columns of frames.csv. */
extern const Column frame_columns[];

/* DIR/frames.csv and the plot frames: where the particles are at `count` times from 0 to t_end (0: the system's own), in
 * equal steps: their first two coordinates, coloured by the third or, where there is none, by their number. From the reference
 * solution, to 1e-6. A system of one coordinate: ERR_INPUT. */
int frames_study(const SystemChoice *system, double t_end, size_t count, const char *dir);

#endif
