/* csv.c: CSV results (studies/base/csv.c): every cell can be read, as a text and as a number or a refusal. */
#include "studies/base/csv.h"
#include "tests/fuzz/fuzz.h"

static void read_all(const Csv *c)
{
    double x;
    FUZZ_CHECK(c->columns >= 1);
    for (size_t i = 0; i < c->columns; i++)
        FUZZ_CHECK(csv_column(c, c->cell[i]) <= (int)i && csv_column(c, c->cell[i]) >= 0);
    for (size_t row = 0; row < c->rows; row++)
        for (size_t i = 0; i < c->columns; i++) {
            int code = csv_number(c, row, (int)i, &x);
            FUZZ_CHECK(strlen(csv_cell(c, row, (int)i)) > 0 || code == 0);
        }
}

FUZZ()
{
    Csv c;
    if (csv_open(&c, fuzz_file(data, size)) == 0) {
        read_all(&c);
        csv_close(&c);
    }
}
