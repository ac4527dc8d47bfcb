/* record.h: DIR/commands.csv, the commands that wrote a directory's results, a row each in the order they
 * ended: what is needed to do them again. */
#ifndef TROTTER_RECORD_H
#define TROTTER_RECORD_H

#define RECORD_FILE "commands.csv"

/* Appends `trotter argv[0] .. argv[argc - 1]`, ended with `code` (error.h), atomically; of several processes that do so at
 * once, every row stays, where the file system has locks. Does nothing where DIR is not there or the command was misused (code < 0). error_text stays. ERR_SYSTEM, ERR_MEMORY. */
int record_command(const char *dir, int argc, char *const *argv, int code);

#endif
