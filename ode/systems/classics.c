/* classics.c: test problems of the literature, as texts in the language of system files (ode/field/system_file.c). To add
 * one, add a row. Their parameters are options: --system van-der-pol:mu=10. Where t-end is earlier than in the
 * literature, explicit schemes come to it in a short time; t-whole is then the literature's, and small its atol over rtol (Hairer, Wanner 1996, IV.10; e5: of 1.7e-24 at 1e-6). The states `end` are those of the Test Set
 * for IVP Solvers (Mazzia, Magherini 2008). SciPy's Radau (of pleiades DOP853) at 1e-12 gave the same in ten digits or more, on
 * 2026-11-29; test_solve.c holds our own integrators to them. There are four exceptions. SciPy's LSODA meets ring-modulator in seven digits, and radau-iia5 at 1e-7 in six. The published end of medical-akzo is some 20 of
 * its coordinates, known to 1e-11 of the largest; ours is SciPy's at 1e-13, which is its own at 1e-12 to 2e-13. That of
 * arenstorf is its beginning. That of e5, 1e-22 and less, is missing: at 1e13 doubles have nothing left of it but the rounding of its
 * sums, and integrators at any tolerance end in different states.
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

#include "ode/field/program.h"
#include "ode/systems/system_kind.h"

/* Currents of ring-modulator's four diodes. */
#define RING "2*sin(20000*pi*t)"
#define Q1 "gamma*(exp(delta*(y3 - y5 - y7 - " RING ")) - 1)"
#define Q2 "gamma*(exp(delta*(-y4 + y6 - y7 - " RING ")) - 1)"
#define Q3 "gamma*(exp(delta*(y4 + y5 + y7 + " RING ")) - 1)"
#define Q4 "gamma*(exp(delta*(-y3 - y6 + y7 + " RING ")) - 1)"

/* Neighbours of y1 in medical-akzo: phi flows in on the left until t = 5, and nothing flows out on the right. */
#define LEFT "(y1[i-1] + phi*heaviside(1 - i)*heaviside(5 - t))"
#define RIGHT "(y1[i+1] + y1*heaviside(i - n))"

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
     "n 1\nd 2\nparam mu = 1000\nG1 = y2\nG2 = mu*(1 - y1^2)*y2 - y1\ninitial = 2, 0\n"
     "t-end 1\nh0 1/2048\nt-whole 2000\nsmall 1\nend = 1.706167732170469, -0.8928097010248125e-3\n"},
    {"van-der-pol-split", "the same in two parts: y2', which may be stiff, is F, and y1' is G",
     "van der Pol 1926; split as PETSc's TS tutorial ex16 does",
     "n 1\nd 2\nparam mu = 1000\nF2 = own mu*(1 - y1^2)*y2 - y1\nG1 = y2\ninitial = 2, 0\n"
     "t-end 1\nh0 1/2048\nt-whole 2000\nsmall 1\nend = 1.706167732170469, -0.8928097010248125e-3\n"},
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
     "t-end 17.0652165601579625588917206249\nh0 1/8192\n"
     "end = 0.994, 0, 0, -2.00158510637908252240537862224\n"},
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
     "initial = 1, 0, 0, 0, 0, 0, 0, 0.0057\nt-end 10\nh0 1/64\nt-whole 321.8122\nsmall 1e-4\n"
     "end = 0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2, "
     "0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2\n"},
    {"robertson", "three reactions of very different speed", "Robertson 1966; HW IV.10",
     "n 1\nd 3\nG1 = -0.04*y1 + 1e4*y2*y3\nG2 = 0.04*y1 - 1e4*y2*y3 - 3e7*y2^2\nG3 = 3e7*y2^2\n"
     "initial = 1, 0, 0\nt-end 1\nh0 1/2048\nt-whole 1e11\nsmall 1e-6\n"
     "end = 0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050\n"},
    {"oregonator", "the Belousov-Zhabotinsky reaction", "Field, Noyes 1974; HW IV.10",
     "n 1\nd 3\nG1 = 77.27*(y2 + y1*(1 - 8.375e-6*y1 - y2))\nG2 = (y3 - (1 + y1)*y2)/77.27\n"
     "G3 = 0.161*(y1 - y3)\ninitial = 1, 2, 3\nt-end 5\nh0 1/4096\nt-whole 360\nsmall 1e-6\n"
     "end = 0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3\n"},
    {"e5", "four reactions that end at once or never", "Enright, Hull, Lindberg 1975; HW IV.10",
     "n 1\nd 4\nparam a = 7.89e-10\nparam b = 1.1e7\nparam k = 1.13e3\nparam mk = 1e6*k\n"
     "G1 = -a*y1 - b*y1*y3\nG2 = a*y1 - mk*y2*y3\nG3 = a*y1 - b*y1*y3 - mk*y2*y3 + k*y4\n"
     "G4 = b*y1*y3 - k*y4\ninitial = 1.76e-3, 0, 0, 0\nt-end 1/10\nh0 1/65536\nt-whole 1e13\nsmall 1e-18\n"},
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
     "t-whole 60\nsmall 1\n"
     "end = 0.5646255480022769e-1, 0.1342484130422339, 0.4139734331099427e-8, "
     "0.5523140207484359e-2, 0.2018977262302196e-6, 0.1464541863493966e-6, 0.7784249118997964e-1, "
     "0.3245075353396018, 0.7494013383880406e-2, 0.1622293157301561e-7, 0.1135863833257075e-7, "
     "0.2230505975721359e-2, 0.2087162882798630e-3, 0.1396921016840158e-4, 0.8964884856898295e-2, "
     "0.4352846369330103e-17, 0.6899219696263405e-2, 0.1007803037365946e-3, "
     "0.1772146513969984e-5, 0.5682943292316392e-4\n"},
    {"ring-modulator", "an electrical circuit that multiplies two signals",
     "Horneber 1976; Mazzia, Magherini 2008",
     "n 1\nd 15\nparam C = 1.6e-8\nparam Cs = 2e-12\nparam Cp = 1e-8\nparam Lh = 4.45\n"
     "param Ls1 = 0.002\nparam Ls2 = 5e-4\nparam Ls3 = 5e-4\nparam gamma = 40.67286402e-9\n"
     "param delta = 17.7493332\nparam R = 25000\nparam Rp = 50\nparam Rg1 = 36.3\n"
     "param Rg2 = 17.3\nparam Rg3 = 17.3\nparam Ri = 50\nparam Rc = 600\n"
     "G1 = (y8 - 0.5*y10 + 0.5*y11 + y14 - y1/R)/C\n"
     "G2 = (y9 - 0.5*y12 + 0.5*y13 + y15 - y2/R)/C\n"
     "G3 = (y10 - " Q1 " + " Q4 ")/Cs\n"
     "G4 = (-y11 + " Q2 " - " Q3 ")/Cs\n"
     "G5 = (y12 + " Q1 " - " Q3 ")/Cs\n"
     "G6 = (-y13 - " Q2 " + " Q4 ")/Cs\n"
     "G7 = (-y7/Rp + " Q1 " + " Q2 " - " Q3 " - " Q4 ")/Cp\n"
     "G8 = -y1/Lh\nG9 = -y2/Lh\nG10 = (0.5*y1 - y3 - Rg2*y10)/Ls2\n"
     "G11 = (-0.5*y1 + y4 - Rg3*y11)/Ls3\nG12 = (0.5*y2 - y5 - Rg2*y12)/Ls2\n"
     "G13 = (-0.5*y2 + y6 - Rg3*y13)/Ls3\n"
     "G14 = (-y1 + 0.5*sin(2000*pi*t) - (Ri + Rg1)*y14)/Ls1\nG15 = (-y2 - (Rc + Rg1)*y15)/Ls1\n"
     "initial = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0\nt-end 3e-8\nh0 1e-8\nt-whole 1e-3\nsmall 1\n"
     "end = -0.2339057358486745e-1, -0.7367485485540825e-2, 0.2582956709291169, "
     "-0.4064465721283450, -0.4039455665149794, 0.2607966765422943, 0.1106761861269975, "
     "0.2939904342435596e-6, -0.2840029933642329e-7, 0.7267198267264553e-3, "
     "0.7929487196960840e-3, -0.7255283495698965e-3, -0.7941401968526521e-3, "
     "0.7088495416976114e-4, 0.2390059075236570e-4\n"},
    {"medical-akzo", "antibodies that enter a tissue: diffusion and reaction on a grid",
     "Akzo Nobel 1995; Mazzia, Magherini 2008",
     "n 200\nd 2\nparam k = 100\nparam w = 4\nparam phi = 2\n"
     "G1 = n*(i/n - 1)^3/w^2*(" RIGHT " - " LEFT ") + "
     "n^2*(i/n - 1)^4/w^2*(" RIGHT " - 2*y1 + " LEFT ") - k*y1*y2\nG2 = -k*y1*y2\n"
     "initial = 0, 1\nt-end 1\nh0 1/512\nt-whole 20\nsmall 1\nend = "
     "5.11398385e-6, 0, 1.027858773e-5, 0, 1.549349867e-5, 0, 2.07583535e-5, 0, 2.607273617e-5, "
     "0, 3.143617484e-5, 0, 3.684813894e-5, 0, 4.230803605e-5, 0, 4.781520866e-5, 0, "
     "5.336893073e-5, 0, 5.896840423e-5, 0, 6.461275535e-5, 0, 7.030103069e-5, 0, "
     "7.603219324e-5, 0, 8.180511815e-5, 0, 8.761858836e-5, 0, 9.347129003e-5, 0, "
     "9.936180781e-5, 0, 1.0528861983e-4, 0, 1.1125009258e-4, 0, 1.1724447555e-4, 0, "
     "1.2326989559e-4, 0, 1.2932435112e-4, 0, 1.3540570612e-4, 0, 1.4151168377e-4, 0, "
     "1.4763985999e-4, 0, 1.5378765665e-4, 0, 1.5995233452e-4, 0, 1.6613098599e-4, 0, "
     "1.7232052753e-4, 0, 1.7851769184e-4, 0, 1.8471901975e-4, 0, 1.9092085187e-4, 0, "
     "1.9711931989e-4, 0, 2.0331033766e-4, 0, 2.0948959197e-4, 0, 2.1565253301e-4, 0, "
     "2.2179436461e-4, 0, 2.2791003418e-4, 0, 2.339942223e-4, 0, 2.4004133217e-4, 0, "
     "2.4604547871e-4, 0, 2.5200047745e-4, 0, 2.5789983316e-4, 0, 2.6373672829e-4, 0, "
     "2.6950401119e-4, 0, 2.7519418416e-4, 0, 2.8079939138e-4, 0, 2.863114067e-4, 0, "
     "2.9172162134e-4, 0, 2.9702103163e-4, 0, 3.0220022671e-4, 0, 3.072493763e-4, 0, "
     "3.1215821869e-4, 0, 3.1691604885e-4, 0, 3.2151170697e-4, 0, 3.2593356725e-4, 0, "
     "3.3016952732e-4, 0, 3.3420699828e-4, 0, 3.3803289538e-4, 0, 3.4163362979e-4, 0, "
     "3.4499510134e-4, 0, 3.4810269253e-4, 0, 3.5094126406e-4, 0, 3.534951521e-4, 0, "
     "3.5574816737e-4, 0, 3.5768359668e-4, 0, 3.5928420685e-4, 0, 3.605322516e-4, 0, "
     "3.6140948177e-4, 0, 3.6189715912e-4, 0, 3.6197607439e-4, 0, 3.6162656994e-4, 0, "
     "3.6082856766e-4, 0, 3.5956160258e-4, 0, 3.5780486304e-4, 0, 3.5553723796e-4, 0, "
     "3.5273737203e-4, 0, 3.4938372975e-4, 0, 3.4545466904e-4, 0, 3.409285256e-4, 0, "
     "3.3578370891e-4, 0, 3.2999881117e-4, 0, 3.2355273017e-4, 0, 3.1642480759e-4, 0, "
     "3.0859498406e-4, 0, 3.0004397233e-4, 0, 2.907534502e-4, 0, 2.8070627486e-4, 0, "
     "2.6988672016e-4, 0, 2.5828073872e-4, 0, 2.4587625055e-4, 0, 2.3266346014e-4, 0, "
     "2.1863520361e-4, 0, 2.0378732799e-4, 0, 1.8811910411e-4, 3e-14, 1.716336749e-4, 7.25e-12, "
     "1.5433854051e-4, 1.14339e-9, 1.3624608145e-4, 1.0966248e-7, 1.1737412962e-4, "
     "6.19082202e-6, 9.774701207e-5, 1.9862733202e-4, 7.740788533e-5, 3.48977356585e-3, "
     "5.657118884e-5, 3.234526078923e-2, 3.643334775e-5, 0.15487473478666, 2.003152767e-5, "
     "0.40269805307474, 9.60829742e-6, 0.66497448350691, 4.21553748e-6, 0.84092845466463, "
     "1.7535043e-6, 0.93149466770611, 7.048158e-7, 0.97208962016667, 2.7609433e-7, "
     "0.98902048728125, 1.0575544e-7, 0.99579301235243, 3.965142e-8, 0.99842465314803, "
     "1.455273e-8, 0.99942293259433, 5.22635e-9, 0.99979321259999, 1.83561e-9, "
     "0.99992754093256, 6.3011e-10, 0.99997518693809, 2.1125e-10, 0.99999170151321, 6.913e-11, "
     "0.9999972914303, 2.206e-11, 0.99999913785438, 6.86e-12, 0.99999973258557, 2.08e-12, "
     "0.9999999192385, 6.1e-13, 0.99999997627109, 1.8e-13, 0.99999999322312, 5e-14, "
     "0.99999999812039, 1e-14, 0.99999999949421, 0, 0.99999999986807, 0, 0.99999999996673, 0, "
     "0.99999999999188, 0, 0.99999999999814, 0, 0.99999999999965, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, "
     "0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, "
     "0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, "
     "0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, "
     "0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, "
     "0, 1, 0, 1, 0, 1, 0, 1, 0, 1\n"},
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
    char text[16384];
    int n = snprintf(text, sizeof text, "system %s\ntitle %s\nsource %s\n%s", classics[i].name,
                     classics[i].title, classics[i].source, classics[i].text);
    return system_parse_with(classics[i].name, text, (size_t)n, options, particles, dim, seed, out);
}
