/* gnuplot.c: draws by gnuplot, as a process that can start no other (studies/base/process/sealed.h). */
#include "studies/base/plot/gnuplot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/tick.h"
#include "studies/base/command.h"
#include "studies/base/process/sealed.h"

int gnuplot_run(const char *dir, const char *script)
{
    char *argv[] = {(char *)"gnuplot", (char *)"-d", (char *)script, NULL};
    int status = -1;
    pid_t child;
    if (sealed_start(dir, -1, argv, &child) != 0) return -1;
    for (pid_t ended = 0; ended == 0 || (ended < 0 && errno == EINTR);) {
        ended = waitpid(child, &status, WNOHANG);
        if (ended == 0) nanosleep(&(struct timespec){0, 10000000}, NULL);
        tick();
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* ---- drawing ------------------------------------------------------------------------------------- */

/* Warns of a drawing that is cut short, as on a full disk, and removes it: it lacks the last words of its format.
 * gnuplot does not check that its output arrives. Sources: SVG 1.1, section 5.1; PNG (ISO 15948), section 11.2.5. */
static void check_drawing(const char *dir, const char *name, const char *kind, const char *last)
{
    char path[OUTPUT_PATH], end[16] = "";
    if (output_path(path, dir, "%s.%s", name, kind) != 0) return;
    FILE *f = fopen(path, "rb");
    size_t n = f && fseek(f, -(long)sizeof end, SEEK_END) == 0 ? fread(end, 1, sizeof end, f) : 0;
    if (f) fclose(f);
    if (memmem(end, n, last, strlen(last))) return;
    notice_warn("%s could not be written whole; 'gnuplot %s.gp' there draws it again", path, name);
    remove(path);
}

/* Removes links in the places of drawings: gnuplot would write through them, to a file outside a folder that may be a
 * stranger's. The program's own files are renamed to their places, which replaces a link. */
static void remove_links(const char *dir, const char *name)
{
    static const char *const kinds[] = {"svg", "png", "pdf"};
    char path[OUTPUT_PATH];
    struct stat s;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (output_path(path, dir, "%s.%s", name, kinds[i]) == 0 && lstat(path, &s) == 0 &&
            S_ISLNK(s.st_mode))
            remove(path);
}

void gnuplot_draw(const char *dir, const char *name, int pdf)
{
    char script[80], path[OUTPUT_PATH] = "";
    snprintf(script, sizeof script, "%s.gp", name);
    remove_links(dir, name);
    if (pdf && output_path(path, dir, "%s.pdf", name) == 0) remove(path);
    progress_show("drawing %s", name);
    int status = gnuplot_run(dir, script);
    progress_clear();
    if (status < 0)
        notice_lacks("gnuplot cannot be run (%s); %s/%s is written, not drawn", strerror(errno),
                     dir, script);
    if (status > 0) notice_warn("gnuplot failed; 'gnuplot %s' in %s tells why", script, dir);
    if (status != 0) return;
    check_drawing(dir, name, "svg", "</svg>");
    check_drawing(dir, name, "png", "IEND");
    if (!pdf) return;
    if (output_exists(path))
        check_drawing(dir, name, "pdf", "%%EOF");
    else
        notice_lacks("%s cannot be made: this gnuplot has no terminal pdfcairo", path);
}
