/* gill.c: an example of trotter.h in a page: cc gill.c $(pkg-config
 * --cflags --libs trotter) */
#include <stdio.h>
#include <trotter.h>

static const char gill[] =
    "scheme gill\n"
    "k1 = H(y)\n"
    "k2 = H(y + 1/2*k1)\n"
    "k3 = H(y + 1/2*(sqrt(2) - 1)*k1 + (1 - 1/2*sqrt(2))*k2)\n"
    "k4 = H(y - 1/2*sqrt(2)*k2 + (1 + 1/2*sqrt(2))*k3)\n"
    "y' = y + 1/6*k1 + 1/3*(1 - 1/2*sqrt(2))*k2 + 1/3*(1 + 1/2*sqrt(2))*k3 + 1/6*k4\n";

static int failed(void)
{
    fprintf(stderr, "%s\n", trotter_error());
    return 1;
}

int main(void)
{
    TrotterScheme *scheme;
    TrotterSystem *system;
    TrotterTheory theory;
    TrotterOrder order;
    if (trotter_scheme_read(gill, NULL, &scheme) != TROTTER_DONE) return failed();
    if (trotter_scheme_theory(scheme, &theory) != TROTTER_DONE) return failed();
    printf("%s has order %d\n", trotter_scheme_name(scheme), theory.order);
    if (trotter_system_find("attention", 0, 0, 1, &system) != TROTTER_DONE) return failed();
    if (trotter_measure(scheme, system, 0, 0, 6, &order) != TROTTER_DONE) return failed();
    printf("measured %.2f, %s\n", order.slope, order.verdict);
    trotter_free(order.point);
    trotter_system_free(system);
    trotter_scheme_free(scheme);
    return 0;
}
