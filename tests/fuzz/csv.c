/* csv.c: CSV results (studies/base/frame.c): every cell can be read, as a text and as a number or a refusal. */
#include "studies/base/frame.h"
#include "tests/fuzz/fuzz.h"

static void read_all(const Frame *c)
{
    double x;
    FUZZ_CHECK(c->columns >= 1);
    for (size_t i = 0; i < c->columns; i++)
        FUZZ_CHECK(frame_column(c, c->cell[i]) <= (int)i && frame_column(c, c->cell[i]) >= 0);
    for (size_t row = 0; row < c->rows; row++)
        for (size_t i = 0; i < c->columns; i++) {
            int code = frame_number(c, row, (int)i, &x);
            FUZZ_CHECK(strlen(frame_cell(c, row, (int)i)) > 0 || code == 0);
        }
}

FUZZ()
{
    Frame c;
    if (frame_read(&c, fuzz_file(data, size)) == 0) {
        read_all(&c);
        frame_close(&c);
    }
}
