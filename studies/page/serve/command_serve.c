/* command_serve.c: shows a directory's studies and trainings in a browser on this machine. */
#include "studies/page/serve/serve.h"
#include "studies/base/command.h"

static int run(Options *o)
{
    const char *dir = options_text(o, "dir");
    if (!dir || !*dir) return error_set(ERR_INPUT, "say of which directory: trotter serve DIR");
    return server_run(dir, (unsigned)options_size(o, "port"));
}

const Command command_serve = {
    .name = "serve",
    .purpose = "show a directory's studies and trainings in a browser",
    .about =
        "Prints an address of this machine, and answers a browser there until Ctrl-C. The page has the report of DIR\n"
        "(trotter report), curves that grow while trainings below DIR run, the tables of runs to filter and sort, and a\n"
        "place to type a scheme, which tells its order, leading terms, region of stability and errors by step.\n"
        "\n"
        "It only reads: no request writes, starts a training, or reads outside DIR. Who does not know the token in the\n"
        "address gets nothing. Other machines do not reach it; through ssh: ssh -L 8000:127.0.0.1:8000 there, with\n"
        "--port 8000. A request that takes more than 10 seconds of a processor is ended and says so.\n",
    .example = "out",
    .groups = GROUPS(OPTION_GROUP(
        "Input", 1,
        {"dir", OPTION_TEXT, NULL, "DIR", "directory of results; all below it is shown too"},
        {"port", OPTION_SIZE, NULL, "N", "port of the address (default: any that is free)", 1024,
         65535})),
    .operand = "dir",
    .run = run,
};
