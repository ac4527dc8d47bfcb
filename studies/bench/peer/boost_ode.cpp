// boost_ode.cpp: Boost.odeint's euler, runge_kutta4 and runge_kutta4_classic behind peer.h. Built by
// `make peers`, for `trotter bench ode` alone, as fast as its users can have it (-O3 -march=native).
// Source: Ahnert, Mulansky 2011, "Odeint: solving ordinary differential equations in C++".
#include <boost/numeric/odeint.hpp>

#include <cstring>
#include <new>
#include <vector>

#include "studies/bench/peer/peer.h"

namespace {

typedef std::vector<double> State;

struct Run {
    explicit Run(const PeerProblem *problem)
        : p(problem), y(problem->initial, problem->initial + problem->N)
    {
    }
    virtual ~Run() {}
    virtual void step() = 0;
    const PeerProblem *p;
    State y;
    double t = 0;
};

template <class Stepper> struct RunOf : Run {
    using Run::Run;
    void step() override
    {
        const PeerProblem *q = p;
        auto field = [q](const State &x, State &dx, double at) {
            q->field(at, x.data(), dx.data(), q->arg);
        };
        stepper.do_step(field, y, t, q->h);
        t += q->h;
    }
    Stepper stepper;
};

Run *make(const char *method, const PeerProblem *p)
{
    using namespace boost::numeric::odeint;
    if (!std::strcmp(method, "euler")) return new RunOf<euler<State>>(p);
    if (!std::strcmp(method, "rk4")) return new RunOf<runge_kutta4<State>>(p);
    if (!std::strcmp(method, "rk4-classic")) return new RunOf<runge_kutta4_classic<State>>(p);
    return nullptr;
}

void *open_run(const char *method, const PeerProblem *p)
{
    try {
        return make(method, p);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

int steps(void *run, size_t count)
{
    try {
        while (count--) static_cast<Run *>(run)->step();
        return 0;
    } catch (const std::bad_alloc &) {
        return -2; // ERR_MEMORY
    }
}

void close_run(void *run)
{
    delete static_cast<Run *>(run);
}

} // namespace

extern "C" {
extern const PeerLibrary peer_library;
const PeerLibrary peer_library = {PEER_VERSION, {"boost", open_run, steps, close_run, nullptr}};
}
