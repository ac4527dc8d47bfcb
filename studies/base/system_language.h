/* system_language.h: the language of system files in words, which `trotter order --help all` (`solve` the last part) and the man page
 * trotter-systems(5) print. C99 has texts of 4,095 bytes, so there are two. */
#ifndef TROTTER_SYSTEM_LANGUAGE_H
#define TROTTER_SYSTEM_LANGUAGE_H

#define LANGUAGE_OF_SYSTEMS                                                                                                           \
    "A system is a text. 'trotter order --system-file swarm.txt' reads swarm.txt:\n"                                                  \
    "\n"                                                                                                                              \
    "    system swarm                        # the name in tables and plots\n"                                                        \
    "    n 16                                # particles, and coordinates of each\n"                                                  \
    "    d 2\n"                                                                                                                       \
    "    param a = 1/2\n"                                                                                                             \
    "    F = mean (z - y)*(a - exp(-r2))     # interaction: sum, mean, softmax S : V; own V: none\n"                                  \
    "    G1 = -y1                            # drift; `G = ...`: every coordinate\n"                                                  \
    "    G2 = sin(t) - y2^3\n"                                                                                                        \
    "    memory 4                            # particles at rest, which C sees, for\n"                                                \
    "    memory = normal                     # decoders' schemes, y' = F + C + G\n"                                                   \
    "    C = softmax dot : z                 # interaction with them\n"                                                               \
    "    initial = cos(2*pi*i/n) + normal/10 # or a list: 2, 0\n"                                                                     \
    "    t-end 1                             # or t-end = 1\n"                                                                        \
    "    h0 1/8\n"                                                                                                                    \
    "\n"                                                                                                                              \
    "F sums over the other particles (mean: divided by n; softmax: V weighted by exp(S), over all). y is\n"                           \
    "the current coordinate of the particle itself, and y1, y2 .. are all of them; z, z1, z2 .. are those\n"                          \
    "of the other, in F and C. r2, r and dot are squared distance, distance and scalar product;\n"                                    \
    "i, j and c are the numbers of the particles and the coordinate, from 1; t is time. Expressions have\n"                           \
    "+ - * / ^ ( ) sqrt exp log sin cos tan tanh abs heaviside, pi, n, d. `initial` and\n"                                            \
    "`memory` can use i, c, uniform in (0, 1) and normal. A rule not written is 0. y1' = y2 is an unsplit right side, all of it G;\n" \
    "the largest number is then d. A list has one particle's numbers, or all particles' in turn, and without n\n"                     \
    "says how many there are.\n"                                                                                                      \
    "\n"                                                                                                                              \
    "F = k*(y[i+1] - 2*y + y[i-1]) has neighbours on a grid, as G may; beyond its ends they are 0, or x by\n"                         \
    "a line `ends x`; `ring` joins the ends. y'' = -sin(y), before F and `initial`, makes the state positions\n"                      \
    "y and velocities y'; F is y'', G the drift. `exact = cos(t), -sin(t)` is the solution, where\n"                                  \
    "known: the reference; `energy = y'^2/2` an invariant; `param m = 1, 2` a vector: m[i], m[j], m[c].\n"                            \
    "--set mu=10 sets parameters, as van-der-pol:mu=10 does for texts that --systems lists.\n"                                        \
    "\n"                                                                                                                              \
    "`t-whole 321.8122` is an end later than t-end, to which runs by tolerance go. `end = ...` has the state of all particles\n"      \
    "there (without t-whole at t-end), from the text's own initial state and parameters, and `solve` tells the error at the\n"        \
    "end against it. `small 1e-6` says how small coordinates are: `solve --rtol X` alone takes 1e-6 X as the absolute\n"              \
    "tolerance. `title` and `source` are words for tables.\n"

/* The same of equations that are not y' = ..., which `solve` takes. */
#define LANGUAGE_OF_EQUATIONS                                                                                       \
    "Beside y1' = ..., a text may have equations without derivatives, 0 = y1 + y2 - 1, and with several,\n"         \
    "-a*y1' + a*y2' = y1, whose factors are constant. Each stands in the first row that no y1' = ... has, and\n"    \
    "together they are M y' = G(y), the same M for every particle. Schemes that solve for all they add take\n"      \
    "steps of it: radau-iia5, implicit-euler, rodas4, ros2. The index must be 1, and the initial state satisfy\n"   \
    "the equations without derivatives.\n"                                                                          \
    "\n"                                                                                                            \
    "Nobody needs to write a Jacobian: the text tells where it has entries, and differences give them. For\n"       \
    "equations y1' = ... of particles that do not see each other a text may: dy1'/dy2 = 1, a line an entry. Then\n" \
    "entries that are not written are 0, and each is held to differences at a few states when the file is read.\n"

#endif
