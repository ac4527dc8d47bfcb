/* log_forms.c: log.csv as other programs read it (run.h): log.jsonl, a JSON object a row, and events.out.tfevents, TensorBoard's.
 * Both say what log.csv says under the names of its columns. They are made of its lines alone, so a run that goes on makes
 * them again from the rows that it keeps.
 *
 * An event file is records of a length n (8 bytes), a checksum of those, n bytes, a checksum of those, least byte first. The bytes
 * are a message of Protocol Buffers. The first record's is Event{wall_time, file_version}; a row's is
 *
 *   Event    { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5 }
 *   Summary  { repeated Value value = 1 }        Value  { string tag = 1; float simple_value = 2 }
 *
 * A field begins with 8 times its number plus its type: 1 is 8 bytes, 0 a number in groups of 7 bits, 2 a length and bytes, 5 is
 * 4 bytes. The checksum is CRC-32C, turned right by 15 bits and 0xa282ead8 added.
 *
 * Source: TensorFlow's event.proto, summary.proto, lib/io/record_writer.cc, lib/hash/crc32c.h. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "nn/run/run.h"

const char *run_file(Run *r, const char *name)
{
    sprintf(r->file, "%s/%s", r->t->out, name);
    return r->file;
}

FILE *run_fopen(const char *file, const char *mode, int flags)
{
    int fd = open(file, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
    FILE *f = fd < 0 ? NULL : fdopen(fd, mode);
    if (fd >= 0 && !f) close(fd);
    return f;
}

/* A value takes 9 bytes beside its tag, and is of 2 bytes of a line or more: an event is below 6 lines. */
enum { LINE = 1024, EVENT = 6 * LINE };

/* Bytes of a message that is made. */
typedef struct {
    unsigned char byte[EVENT];
    size_t n;
} Message;

static void put_bytes(Message *m, const void *bytes, size_t n)
{
    memcpy(m->byte + m->n, bytes, n);
    m->n += n;
}

static void put_number(Message *m, uint64_t x)
{
    for (; x > 127; x >>= 7) m->byte[m->n++] = (unsigned char)(x | 128);
    m->byte[m->n++] = (unsigned char)x;
}

static void put_field(Message *m, unsigned number, const void *bytes, size_t n)
{
    put_number(m, 8 * number + 2);
    put_number(m, n);
    put_bytes(m, bytes, n);
}

static uint32_t checksum(const void *bytes, size_t n)
{
    uint32_t crc = ~0U;
    for (const unsigned char *b = bytes; n--; b++) {
        crc ^= *b;
        for (int i = 0; i < 8; i++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

static void write_record(const Message *m, FILE *f)
{
    uint64_t n = m->n;
    uint32_t head = checksum(&n, sizeof n), body = checksum(m->byte, m->n);
    fwrite(&n, sizeof n, 1, f);
    fwrite(&head, sizeof head, 1, f);
    fwrite(m->byte, 1, m->n, f);
    fwrite(&body, sizeof body, 1, f);
}

static void begin_event(Message *m)
{
    double now = (double)time(NULL);
    m->n = 0;
    m->byte[m->n++] = 8 * 1 + 1;
    put_bytes(m, &now, sizeof now);
}

static void put_value(Message *summary, const char *tag, double x)
{
    Message value = {.n = 0};
    const float number = (float)x;
    put_field(&value, 1, tag, strlen(tag));
    value.byte[value.n++] = 8 * 2 + 5;
    put_bytes(&value, &number, sizeof number);
    put_field(summary, 1, value.byte, value.n);
}

/* Writes a row, whose cells and their columns' names are separated by commas, in both forms. */
static void write_row(LogForms *l, char *row)
{
    char names[LINE], *name, *cell, *at = names, *end;
    Message event, summary = {.n = 0};
    uint64_t step = strtoull(row, NULL, 10);
    const char *apart = "{";
    strcpy(names, l->names);
    while ((name = strsep(&at, ",")) && (cell = strsep(&row, ","))) {
        double x = strtod(cell, &end);
        int number = end != cell && !*end;
        const char *quote = number || !*cell ? "" : "\"";
        fprintf(l->json, "%s\"%s\": %s%s%s", apart, name, quote,
                *cell && (!number || isfinite(x)) ? cell : "null", quote);
        if (number && strcmp(name, "step") != 0) put_value(&summary, name, x);
        apart = ", ";
    }
    fputs("}\n", l->json);
    begin_event(&event);
    put_number(&event, 8 * 2);
    put_number(&event, step);
    put_field(&event, 5, summary.byte, summary.n);
    write_record(&event, l->events);
}

int log_forms_follow(Run *r)
{
    LogForms *l = &r->forms;
    char line[LINE];
    while (l->log && fgets(line, sizeof line, l->log)) {
        line[strcspn(line, "\n")] = '\0';
        if (*l->names)
            write_row(l, line);
        else
            strcpy(l->names, line);
    }
    if (!l->log) return 0;
    clearerr(l->log); /* its end moves */
    if (fflush(l->json) == 0 && fflush(l->events) == 0) return 0;
    return error_set(ERR_SYSTEM, "%s/log.jsonl, events.out.tfevents: %s", r->t->out,
                     strerror(errno));
}

static int open_one(Run *r, const char *name, const char *mode, int flags, FILE **f)
{
    *f = run_fopen(run_file(r, name), mode, flags);
    if (*f) return 0;
    return error_set(errno == ELOOP ? ERR_INPUT : ERR_SYSTEM, "%s: %s", run_file(r, name),
                     errno == ELOOP ? "it is a symbolic link, which is not followed"
                                    : strerror(errno));
}

int log_forms_open(Run *r)
{
    static const char version[] = "brain.Event:2";
    LogForms *l = &r->forms;
    Message event;
    TRY(open_one(r, "log.csv", "r", O_RDONLY, &l->log));
    TRY(open_one(r, "log.jsonl", "w", O_WRONLY | O_CREAT | O_TRUNC, &l->json));
    TRY(open_one(r, "events.out.tfevents", "w", O_WRONLY | O_CREAT | O_TRUNC, &l->events));
    begin_event(&event);
    put_field(&event, 3, version, sizeof version - 1);
    write_record(&event, l->events);
    return log_forms_follow(r);
}

void log_forms_close(Run *r)
{
    FILE *const file[] = {r->forms.log, r->forms.json, r->forms.events};
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        if (file[i]) fclose(file[i]);
}
