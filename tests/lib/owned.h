/* owned.h: truncators that are freed where their scope ends, as tables are by schemes.h and models by tiny.h. */
#ifndef TROTTER_TESTS_OWNED_H
#define TROTTER_TESTS_OWNED_H

#include "bridge/truncation.h"
#include "tests/lib/schemes.h"
#include "tests/lib/tiny.h"

#define OWN_TRUNCATOR SCOPED(truncator_drop) Truncator

#endif
