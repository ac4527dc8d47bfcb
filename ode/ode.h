/* ode.h: integrators and particle systems, all rooms of ode/ in the order in which data pass. Nothing here knows of
 * networks. Conventions: error = numerical - exact; order p means local error O(h^(p+1)); [F,G] = G'F - F'G. */
#ifndef TROTTER_ODE_H
#define TROTTER_ODE_H

#include "ode/scheme/scheme.h"
#include "ode/theory/theory.h"
#include "ode/field/field.h"
#include "ode/systems/systems.h"
#include "ode/step/steps.h"
#include "ode/measure/measure.h"

#endif
