/* command_manual.c: writes the man pages and the bash completion that `make install` installs. */
#include "studies/page/manual/manual.h"

/* Writes text i: completion, overview, language of systems, then a page of each command. */
static int write_text(const char *dir, size_t i)
{
    char path[OUTPUT_PATH];
    Output o;
    const Command *c = i < 3 ? NULL : command_all[i - 3];
    static const char *const name[] = {".bash", ".1", "-systems.5"};
    TRY(output_path(path, dir, "trotter%s%s%s", c ? "-" : "", c ? c->name : "",
                    c ? ".1" : name[i]));
    TRY(output_open(&o));
    if (i == 0)
        manual_completion(command_all, o.f);
    else if (i == 1)
        manual_overview(command_all, o.f);
    else if (i == 2)
        manual_systems(o.f);
    else
        manual_page(c, command_all, o.f);
    return output_close(&o, path);
}

static int run(Options *o)
{
    const char *dir = options_text(o, "out");
    TRY(output_directory(dir));
    for (size_t i = 0; i < 3 || command_all[i - 3]; i++) TRY(write_text(dir, i));
    return 0;
}

const Command command_manual = {
    .name = "manual",
    .purpose = "write man pages and a bash completion",
    .about =
        "Writes the texts of --help all as man pages; 'make install' installs them. 'man -l DIR/trotter-train.1'\n"
        "shows one. 'source DIR/trotter.bash' lets bash complete commands, options, their values and names of\n"
        "schemes.\n",
    .example = "--out out/man",
    .groups = GROUPS(OPTION_GROUP(
        "Output", 0,
        {"out", OPTION_TEXT, "out/man", "DIR",
         "write DIR/trotter.1, DIR/trotter-COMMAND.1 of every command, DIR/trotter-systems.5, and "
         "DIR/trotter.bash"})),
    .run = run,
};
