// boost_ode.cpp: Boost.odeint's controlled steppers behind peer.h. Built by `make peers`, for `trotter order --adaptive`
// alone, as fast as its users can have it (-O3 -march=native).
// Source: Ahnert, Mulansky 2011, "Odeint: solving ordinary differential equations in C++".
#include <boost/numeric/odeint.hpp>

#include <cstring>
#include <exception>
#include <new>
#include <vector>

#include "studies/solve/peer.h"

namespace {

typedef std::vector<double> State;

// Steps by tolerance; one that would pass the end is cut to it.
template <class Stepper>
int controlled(const PeerProblem *p, const PeerTolerance *o, double *out, PeerRun *run)
{
    using namespace boost::numeric::odeint;
    auto field = [p](const State &x, State &dx, double at) {
        p->field(at, x.data(), dx.data(), p->arg);
    };
    auto stepper = make_controlled(o->absolute, o->relative, Stepper());
    State y(p->initial, p->initial + p->N);
    double t = 0, h = o->first;
    *run = PeerRun{PEER_STEPS, 0, 0};
    for (bool last = false; run->outcome == PEER_STEPS && run->steps + run->rejected < o->most;) {
        last = t + h >= o->t_end;
        if (last) h = o->t_end - t;
        if (stepper.try_step(field, y, t, h) == success) {
            run->steps++;
            if (last) run->outcome = PEER_DONE;
        } else {
            run->rejected++;
        }
        if (!(h > 0) || (run->outcome != PEER_DONE && t + h == t)) run->outcome = PEER_FAILED;
    }
    std::memcpy(out, y.data(), p->N * sizeof *out);
    return 0;
}

int adapt(const char *method, const PeerProblem *p, const PeerTolerance *o, double *y, PeerRun *out)
{
    using namespace boost::numeric::odeint;
    try {
        if (!std::strcmp(method, "cash-karp"))
            return controlled<runge_kutta_cash_karp54<State>>(p, o, y, out);
        if (!std::strcmp(method, "dopri5"))
            return controlled<runge_kutta_dopri5<State>>(p, o, y, out);
        if (!std::strcmp(method, "fehlberg78"))
            return controlled<runge_kutta_fehlberg78<State>>(p, o, y, out);
        return -4; // ERR_MISUSE
    } catch (const std::bad_alloc &) {
        return -2; // ERR_MEMORY
    } catch (const std::exception &) { // a step size that no longer changes, a state that is not finite
        *out = PeerRun{PEER_FAILED, 0, 0};
        return 0;
    }
}

} // namespace

extern "C" {
extern const PeerLibrary peer_library;
const PeerLibrary peer_library = {PEER_VERSION, adapt};
}
