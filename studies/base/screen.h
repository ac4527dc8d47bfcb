/* screen.h: standard output as a stream of the program's own, which takes from texts of others what steers a terminal, and
 * keeps why a write failed. */
#ifndef TROTTER_SCREEN_H
#define TROTTER_SCREEN_H

/* Replaces stdout, once, at the program's start. What a terminal gets is harmless (kernels/base/plain_text.h); files and pipes get every
 * byte as it is, until screen_people. */
void screen_begin(void);

/* From now on this command writes for people, wherever stdout leads: a pipe may end at a terminal. */
void screen_people(void);

/* Returns the errno of the first write that failed; 0: none did. */
int screen_error(void);

#endif
