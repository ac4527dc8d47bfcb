/* record.h: DIR/commands.csv, the commands that wrote a directory's results, one row each in the order in which they
 * ended. With it the results can be made again. */
#ifndef TROTTER_RECORD_H
#define TROTTER_RECORD_H

#define RECORD_FILE "commands.csv"

/* Appends `trotter argv[0] .. argv[argc - 1]`, ended with `code` (error.h), atomically. Where the file system has
 * locks, several processes that append at once keep every row. Does nothing where DIR does not exist or the command was
 * misused (code < 0). error_text stays. ERR_SYSTEM, ERR_MEMORY. */
int record_command(const char *dir, int argc, char *const *argv, int code);

#endif
