/* classics.c: test problems of the literature, as texts in the language of system files (ode/field/system_file.c). To add
 * one, add a row. Their parameters are options: --system van-der-pol:mu=10. Where t-end is earlier than in the
 * literature, explicit schemes come to it in a short time; t-whole is then the literature's. The states `end` are those of the Test Set
 * for IVP Solvers (Mazzia, Magherini 2008). SciPy's Radau (of pleiades DOP853) at 1e-12 gave the same in ten digits or more, on
 * 2026-11-29; test_solve.c holds our own integrators to them.
 *
 * Where nobody splits an equation, all of it is G; IMEX schemes then run explicitly, and commands say so. Van der Pol's is
 * split by component in the literature on IMEX schemes, y1' = y2 explicit and y2' = ... implicit (PETSc's TS tutorial ex16;
 * others leave -y1 to the explicit part). That is a row of its own, van-der-pol-split, since a split changes what others see
 * of the field: schemes over H add two slopes where they had one, so that the last digits differ (rk4 at h = 1/32 and mu = 5
 * by 1e-15), and count two evaluations for one. Of Robertson's, the Brusselator's (without diffusion) and Lorenz's equations no such
 * split is common.
 *
 * Sources: Dahlquist 1963; Prothero, Robinson 1974; Hairer, Norsett, Wanner 1993 (HNW), Hairer, Wanner 1996 (HW). */
#include <stdio.h>

#include "kernels/base/error.h"
#include "ode/field/program.h"
#include "ode/systems/system_kind.h"

static const struct {
    const char *name, *title, *source, *text;
} classics[] = {
    {"dahlquist", "the test equation y' = lambda y", "Dahlquist 1963",
     "n 1\nd 1\nparam lambda = -1\nG = lambda*y\ninitial = 1\nexact = exp(lambda*t)\n"
     "t-end 2\nh0 1/4\n"},
    {"logistic", "growth towards 1", "Verhulst 1838",
     "n 1\nd 1\nG = y*(1 - y)\ninitial = 1/10\nexact = 1/(1 + 9*exp(-t))\nt-end 4\nh0 1/2\n"},
    {"oscillator", "y'' = -omega^2 y", "textbooks",
     "n 1\nd 2\nparam omega = 1\nG1 = omega*y2\nG2 = -omega*y1\ninitial = 1, 0\n"
     "exact = cos(omega*t), -sin(omega*t)\nt-end 6\nh0 1/4\n"},
    {"prothero-robinson", "y' = lambda (y - cos t) - sin t, solved by cos t",
     "Prothero, Robinson 1974",
     "n 1\nd 1\nparam lambda = -10\nG = lambda*(y - cos(t)) - sin(t)\ninitial = 1\n"
     "exact = cos(t)\nt-end 3\nh0 1/8\n"},
    {"pendulum", "y'' = -sin y: kick F and drift G", "Hairer, Lubich, Wanner 2006, I.1",
     "n 1\nd 1\ny'' = -sin(y)\nenergy = y'^2/2 - cos(y)\ninitial = 2\nt-end 8\nh0 1/4\n"},
    {"lotka-volterra", "prey and predators", "Lotka 1925; Volterra 1926",
     "n 1\nd 2\nG1 = y1*(2/3 - 4/3*y2)\nG2 = y2*(y1 - 1)\ninitial = 9/5, 9/5\nt-end 10\nh0 1/4\n"},
    {"van-der-pol", "y'' = mu (1 - y^2) y' - y", "van der Pol 1926; HW IV.10",
     "n 1\nd 2\nparam mu = 5\nG1 = y2\nG2 = mu*(1 - y1^2)*y2 - y1\ninitial = 2, 0\n"
     "t-end 20\nh0 1/32\n"},
    {"van-der-pol-split", "the same in two parts: y2', which may be stiff, is F, and y1' is G",
     "van der Pol 1926; split as PETSc's TS tutorial ex16 does",
     "n 1\nd 2\nparam mu = 5\nF2 = own mu*(1 - y1^2)*y2 - y1\nG1 = y2\ninitial = 2, 0\n"
     "t-end 20\nh0 1/32\n"},
    {"fitzhugh-nagumo", "a nerve: a fast voltage and a slow recovery",
     "FitzHugh 1961; Nagumo, Arimoto, Yoshizawa 1962",
     "n 1\nd 2\nparam a = 0.7\nparam b = 0.8\nparam tau = 12.5\nparam current = 0.5\n"
     "G1 = y1 - y1^3/3 - y2 + current\nG2 = (y1 + a - b*y2)/tau\ninitial = -1, 1\nt-end 40\nh0 1/4\n"},
    {"brusselator", "a chemical oscillator", "Lefever, Nicolis 1971; HNW I.16",
     "n 1\nd 2\nG1 = 1 + y1^2*y2 - 4*y1\nG2 = 3*y1 - y1^2*y2\ninitial = 3/2, 3\n"
     "t-end 20\nh0 1/16\n"},
    {"lorenz", "convection in three numbers, chaotic", "Lorenz 1963; HNW I.16",
     "n 1\nd 3\nparam sigma = 10\nparam rho = 28\nparam beta = 8/3\nG1 = sigma*(y2 - y1)\n"
     "G2 = y1*(rho - y3) - y2\nG3 = y1*y2 - beta*y3\ninitial = -8, 8, 27\nt-end 5\nh0 1/128\n"},
    {"arenstorf", "a satellite of earth and moon, back after one period",
     "Arenstorf 1963; HNW II.0",
     "n 1\nd 4\nparam mu = 0.012277471\nparam nu = 1 - mu\nG1 = y3\nG2 = y4\n"
     "G3 = y1 + 2*y4 - nu*(y1 + mu)/((y1 + mu)^2 + y2^2)^1.5 - "
     "mu*(y1 - nu)/((y1 - nu)^2 + y2^2)^1.5\n"
     "G4 = y2 - 2*y3 - nu*y2/((y1 + mu)^2 + y2^2)^1.5 - mu*y2/((y1 - nu)^2 + y2^2)^1.5\n"
     "initial = 0.994, 0, 0, -2.00158510637908252240537862224\n"
     "t-end 17.0652165601579625588917206249\nh0 1/8192\n"},
    {"pleiades", "seven stars in a plane", "HNW II.10",
     "n 7\nd 2\nparam m = 1, 2, 3, 4, 5, 6, 7\ny'' = sum m[j]*(z - y)/r^3\n"
     "initial = 3, 3, 0, 0, 3, -3, 0, 0, -1, 2, 0, 0, -3, 0, 0, -1.25, 2, 0, 0, 1, -2, -4, 1.75, 0, "
     "2, 4, -1.5, 0\nt-end 3\nh0 1/1024\n"
     "end = 0.3706139143970502, -3.943437585517392, 3.417003806314313, -3.741244961234010, "
     "3.237284092057233, -3.271380973972550, 1.354584501625501, 0.3773459685750630, "
     "-3.222559032418324, 5.225081843456543, -2.590065597810775, 0.9386858869551073, "
     "0.6597091455775310, -2.590612434977470, 2.025053734714242, 0.3667922227200571, "
     "0.3425581707156584, 1.198213693392275, -1.155815100160448, -0.3474046353808490, "
     "1.562172101400631, -0.2429682344935824, -0.8072988170223021, 2.344915448180937, "
     "-0.7003092922212495, 1.091449240428980, 0.5952396354208710, -1.947020434263292\n"},
    {"hires", "photomorphogenesis: eight reactions", "Schaefer 1975; HW IV.10",
     "n 1\nd 8\nG1 = -1.71*y1 + 0.43*y2 + 8.32*y3 + 0.0007\nG2 = 1.71*y1 - 8.75*y2\n"
     "G3 = -10.03*y3 + 0.43*y4 + 0.035*y5\nG4 = 8.32*y2 + 1.71*y3 - 1.12*y4\n"
     "G5 = -1.745*y5 + 0.43*y6 + 0.43*y7\n"
     "G6 = -280*y6*y8 + 0.69*y4 + 1.71*y5 - 0.43*y6 + 0.69*y7\n"
     "G7 = 280*y6*y8 - 1.81*y7\nG8 = -280*y6*y8 + 1.81*y7\n"
     "initial = 1, 0, 0, 0, 0, 0, 0, 0.0057\nt-end 10\nh0 1/64\nt-whole 321.8122\n"
     "end = 0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2, "
     "0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2\n"},
    {"robertson", "three reactions of very different speed", "Robertson 1966; HW IV.10",
     "n 1\nd 3\nG1 = -0.04*y1 + 1e4*y2*y3\nG2 = 0.04*y1 - 1e4*y2*y3 - 3e7*y2^2\nG3 = 3e7*y2^2\n"
     "initial = 1, 0, 0\nt-end 1\nh0 1/2048\nt-whole 1e11\n"
     "end = 0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050\n"},
    {"oregonator", "the Belousov-Zhabotinsky reaction", "Field, Noyes 1974; HW IV.10",
     "n 1\nd 3\nG1 = 77.27*(y2 + y1*(1 - 8.375e-6*y1 - y2))\nG2 = (y3 - (1 + y1)*y2)/77.27\n"
     "G3 = 0.161*(y1 - y3)\ninitial = 1, 2, 3\nt-end 5\nh0 1/4096\nt-whole 360\n"
     "end = 0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3\n"},
    {"e5", "four reactions that end at once or never", "Enright, Hull, Lindberg 1975; HW IV.10",
     "n 1\nd 4\nparam a = 7.89e-10\nparam b = 1.1e7\nparam k = 1.13e3\nparam mk = 1e6*k\n"
     "G1 = -a*y1 - b*y1*y3\nG2 = a*y1 - mk*y2*y3\nG3 = a*y1 - b*y1*y3 - mk*y2*y3 + k*y4\n"
     "G4 = b*y1*y3 - k*y4\ninitial = 1.76e-3, 0, 0, 0\nt-end 1/10\nh0 1/65536\nt-whole 1e13\n"},
    {"pollution", "twenty-five reactions of the air", "Verwer 1994; HW IV.10",
     "n 1\n"
     "d 20\n"
     "G1 = -0.35*y1 - 9e3*y11*y1 - 1.63e4*y1*y6 - 0.0474*y1*y4 - 1780*y19*y1 + 26.6*y2*y4 + "
     "1.23e4*y5*y2 + 1.65e4*y11*y2 + 0.022*y13 + 1.2e4*y10*y2 + 5.78*y19 + 3.12*y20\n"
     "G2 = -26.6*y2*y4 - 1.23e4*y5*y2 - 1.65e4*y11*y2 - 1.2e4*y10*y2 + 0.35*y1 + 2.1*y19\n"
     "G3 = -4.8e6*y3 + 0.35*y1 + 0.0175*y4 + 4.44e11*y16 + 5.78*y19\n"
     "G4 = -26.6*y2*y4 - 3.5e-4*y4 - 0.0175*y4 - 0.0474*y1*y4 + 4.8e6*y3\n"
     "G5 = -1.23e4*y5*y2 + 2*8.6e-4*y7 + 1.5e4*y7*y6 + 1.3e-4*y9 + 1.88*y14 + 1240*y17*y6\n"
     "G6 = -1.5e4*y7*y6 - 2.4e4*y9*y6 - 1.63e4*y1*y6 - 1240*y17*y6 + 1.23e4*y5*y2 + 2*1e8*y16\n"
     "G7 = -8.6e-4*y7 - 8.2e-4*y7 - 1.5e4*y7*y6 + 1.88*y14\n"
     "G8 = 8.6e-4*y7 + 8.2e-4*y7 + 1.5e4*y7*y6 + 1.3e-4*y9\n"
     "G9 = -1.3e-4*y9 - 2.4e4*y9*y6\n"
     "G10 = -1.2e4*y10*y2 + 1.3e-4*y9 + 1.65e4*y11*y2\n"
     "G11 = -1.65e4*y11*y2 - 9e3*y11*y1 + 2.4e4*y9*y6 + 0.022*y13\n"
     "G12 = 1.65e4*y11*y2\n"
     "G13 = -0.022*y13 + 9e3*y11*y1\n"
     "G14 = -1.88*y14 + 1.2e4*y10*y2\n"
     "G15 = 1.63e4*y1*y6\n"
     "G16 = -1e8*y16 - 4.44e11*y16 + 3.5e-4*y4\n"
     "G17 = -1240*y17*y6\n"
     "G18 = 1240*y17*y6\n"
     "G19 = -2.1*y19 - 5.78*y19 - 1780*y19*y1 + 0.0474*y1*y4 + 3.12*y20\n"
     "G20 = -3.12*y20 + 1780*y19*y1\n"
     "initial = 0, 0.2, 0, 0.04, 0, 0, 0.1, 0.3, 0.01, 0, 0, 0, 0, 0, 0, 0, 0.007, 0, 0, 0\n"
     "t-end 1\n"
     "h0 1/4096\n"
     "t-whole 60\n"
     "end = 0.5646255480022769e-1, 0.1342484130422339, 0.4139734331099427e-8, "
     "0.5523140207484359e-2, 0.2018977262302196e-6, 0.1464541863493966e-6, 0.7784249118997964e-1, "
     "0.3245075353396018, 0.7494013383880406e-2, 0.1622293157301561e-7, 0.1135863833257075e-7, "
     "0.2230505975721359e-2, 0.2087162882798630e-3, 0.1396921016840158e-4, 0.8964884856898295e-2, "
     "0.4352846369330103e-17, 0.6899219696263405e-2, 0.1007803037365946e-3, "
     "0.1772146513969984e-5, 0.5682943292316392e-4\n"},
    {"heat", "the heat equation between ends at 0, on a grid", "Fourier 1822",
     "n 15\nd 1\nparam nu = 1\nparam k = nu*(n + 1)^2\nF = k*(y[i+1] - 2*y + y[i-1])\n"
     "initial = sin(pi*i/(n + 1))\n"
     "exact = exp(-4*k*sin(pi/2/(n + 1))^2*t)*sin(pi*i/(n + 1))\nt-end 1/10\nh0 1/1024\n"},
    {"advection", "transport round a ring, by central differences", "textbooks",
     "n 32\nd 1\nring\nparam a = 1\nG = -a*n*(y[i+1] - y[i-1])/2\ninitial = sin(2*pi*i/n)\n"
     "exact = sin(2*pi*i/n - a*n*sin(2*pi/n)*t)\nt-end 1\nh0 1/32\n"},
    {"burgers", "Burgers' equation between ends at 0, on a grid", "Burgers 1948",
     "n 31\nd 1\nparam nu = 1/10\nF = nu*(n + 1)^2*(y[i+1] - 2*y + y[i-1])\n"
     "G = -(n + 1)*(y[i+1]^2 - y[i-1]^2)/4\ninitial = sin(pi*i/(n + 1))\nt-end 1/4\nh0 1/512\n"},
    {"allen-cahn", "phases that part: diffusion F, reaction G", "Allen, Cahn 1979",
     "n 64\nd 1\nring\nparam eps = 1/20\nF = (eps*n)^2*(y[i+1] - 2*y + y[i-1])\nG = y - y^3\n"
     "initial = 0.1*sin(2*pi*i/n) + 0.05*cos(6*pi*i/n)\nt-end 4\nh0 1/16\n"},
};
enum { CLASSICS = sizeof classics / sizeof *classics };

const char *classic_name(size_t i)
{
    return i < CLASSICS ? classics[i].name : NULL;
}

const char *classic_title(size_t i)
{
    return i < CLASSICS ? classics[i].title : NULL;
}

int classic_new(size_t i, const char *options, size_t particles, size_t dim, uint64_t seed,
                System **out)
{
    char text[4096];
    int n = snprintf(text, sizeof text, "system %s\ntitle %s\nsource %s\n%s", classics[i].name,
                     classics[i].title, classics[i].source, classics[i].text);
    return system_parse_with(classics[i].name, text, (size_t)n, options, particles, dim, seed, out);
}
