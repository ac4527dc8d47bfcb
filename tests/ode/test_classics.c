/* test_classics.c: schemes of the literature that are not built in, each as its source writes it: order, embedded
 * order, A- and L-stability as published, and the measured order. A mutant of every coefficient of every scheme has
 * another order or another error. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"

/* embedded: order of y' - error, -1: no pair; a, l: A- and L-stable, for IMEX schemes the implicit part, -1: no
 * implicit stage. */
typedef struct {
    const char *name, *source;
    int order, embedded, a, l;
    const char *text;
} Classic;

static const Classic classics[] = {
    {"sdirk3", "Alexander 1977", 3, -1, 1, 1,
     "let g = 0.43586652150845899941601945119356\nlet b1 = -(6*g^2-16*g+1)/4\n"
     "let b2 = (6*g^2-20*g+5)/4\nk1 = H(y + g*k1)\nk2 = H(y + ((1-g)/2)*k1 + g*k2)\n"
     "k3 = H(y + b1*k1 + b2*k2 + g*k3)\ny' = y + b1*k1 + b2*k2 + g*k3"},
    {"crouzeix3", "Crouzeix 1975", 3, -1, 1, 0,
     "let g = (3+sqrt(3))/6\nk1 = H(y + g*k1)\nk2 = H(y + (1-2*g)*k1 + g*k2)\n"
     "y' = y + 1/2*k1 + 1/2*k2"},
    {"crouzeix4", "Crouzeix 1975; Hairer, Wanner 1996, IV.6", 4, -1, 1, 0,
     "let g = 1.0685790213016288064\nlet d = 1/(6*(2*g-1)^2)\nk1 = H(y + g*k1)\n"
     "k2 = H(y + (1/2-g)*k1 + g*k2)\nk3 = H(y + (2*g)*k1 + (1-4*g)*k2 + g*k3)\n"
     "y' = y + d*k1 + (1-2*d)*k2 + d*k3"},
    {"lob3a4", "Ehle 1969", 4, -1, 1, 0,
     "k1 = H(y)\nk2 = H(y + 5/24*k1 + 1/3*k2 + (-1/24)*k3)\nk3 = H(y + 1/6*k1 + 2/3*k2 + 1/6*k3)\n"
     "y' = y + 1/6*k1 + 2/3*k2 + 1/6*k3"},
    {"lob3b4", "Ehle 1969", 4, -1, 1, 0,
     "k1 = H(y + 1/6*k1 + (-1/6)*k2)\nk2 = H(y + 1/6*k1 + 1/3*k2)\nk3 = H(y + 1/6*k1 + 5/6*k2)\n"
     "y' = y + 1/6*k1 + 2/3*k2 + 1/6*k3"},
    {"lob3c2", "Chipman 1971", 2, -1, 1, 1,
     "k1 = H(y + 1/2*k1 + (-1/2)*k2)\nk2 = H(y + 1/2*k1 + 1/2*k2)\ny' = y + 1/2*k1 + 1/2*k2"},
    {"lob3a6", "Ehle 1969", 6, -1, 1, 0,
     "let q = sqrt(5)\nk1 = H(y)\n"
     "k2 = H(y + ((11+q)/120)*k1 + ((25-q)/120)*k2 + ((25-13*q)/120)*k3 + ((-1+q)/120)*k4)\n"
     "k3 = H(y + ((11-q)/120)*k1 + ((25+13*q)/120)*k2 + ((25+q)/120)*k3 + ((-1-q)/120)*k4)\n"
     "k4 = H(y + 1/12*k1 + 5/12*k2 + 5/12*k3 + 1/12*k4)\n"
     "y' = y + 1/12*k1 + 5/12*k2 + 5/12*k3 + 1/12*k4"},
    {"lob3b6", "Ehle 1969", 6, -1, 1, 0,
     "let q = sqrt(5)\nk1 = H(y + 1/12*k1 + ((-1-q)/24)*k2 + ((-1+q)/24)*k3)\n"
     "k2 = H(y + 1/12*k1 + ((25+q)/120)*k2 + ((25-13*q)/120)*k3)\n"
     "k3 = H(y + 1/12*k1 + ((25+13*q)/120)*k2 + ((25-q)/120)*k3)\n"
     "k4 = H(y + 1/12*k1 + ((11-q)/24)*k2 + ((11+q)/24)*k3)\n"
     "y' = y + 1/12*k1 + 5/12*k2 + 5/12*k3 + 1/12*k4"},
    {"lob3c6", "Chipman 1971", 6, -1, 1, 1,
     "let q = sqrt(5)\nk1 = H(y + 1/12*k1 + (-q/12)*k2 + q/12*k3 + (-1/12)*k4)\n"
     "k2 = H(y + 1/12*k1 + 1/4*k2 + ((10-7*q)/60)*k3 + q/60*k4)\n"
     "k3 = H(y + 1/12*k1 + ((10+7*q)/60)*k2 + 1/4*k3 + (-q/60)*k4)\n"
     "k4 = H(y + 1/12*k1 + 5/12*k2 + 5/12*k3 + 1/12*k4)\n"
     "y' = y + 1/12*k1 + 5/12*k2 + 5/12*k3 + 1/12*k4"},
    {"radau1a3", "Ehle 1969", 3, -1, 1, 1,
     "k1 = H(y + 1/4*k1 + (-1/4)*k2)\nk2 = H(y + 1/4*k1 + 5/12*k2)\ny' = y + 1/4*k1 + 3/4*k2"},
    {"radau1a5", "Ehle 1969", 5, -1, 1, 1,
     "let q = sqrt(6)\nk1 = H(y + 1/9*k1 + ((-1-q)/18)*k2 + ((-1+q)/18)*k3)\n"
     "k2 = H(y + 1/9*k1 + (11/45+7*q/360)*k2 + (11/45-43*q/360)*k3)\n"
     "k3 = H(y + 1/9*k1 + (11/45+43*q/360)*k2 + (11/45-7*q/360)*k3)\n"
     "y' = y + 1/9*k1 + (4/9+q/36)*k2 + (4/9-q/36)*k3"},
    {"gauss6", "Kuntzmann 1961, Butcher 1964", 6, -1, 1, 0,
     "let q = sqrt(15)\nk1 = H(y + 5/36*k1 + (2/9-q/15)*k2 + (5/36-q/30)*k3)\n"
     "k2 = H(y + (5/36+q/24)*k1 + 2/9*k2 + (5/36-q/24)*k3)\n"
     "k3 = H(y + (5/36+q/30)*k1 + (2/9+q/15)*k2 + 5/36*k3)\ny' = y + 5/18*k1 + 4/9*k2 + 5/18*k3"},
    {"bdf4", "Curtiss, Hirschfelder 1952", 4, -1, 0, 0,
     "k1 = H(48/25*y - 36/25*y[-1] + 16/25*y[-2] - 3/25*y[-3] + 12/25*k1)\n"
     "y' = 48/25*y - 36/25*y[-1] + 16/25*y[-2] - 3/25*y[-3] + 12/25*k1"},
    {"am4", "Moulton 1926", 4, -1, 0, 0,
     "k1 = H(y)\nk2 = H(y + 9/24*k2 + 19/24*k1 - 5/24*k1[-1] + 1/24*k1[-2])\n"
     "y' = y + 9/24*k2 + 19/24*k1 - 5/24*k1[-1] + 1/24*k1[-2]"},
    {"milne-simpson", "Milne 1926", 4, -1, 0, 0,
     "k1 = H(y)\nk2 = H(y[-1] + 1/3*k1[-1] + 4/3*k1 + 1/3*k2)\n"
     "y' = y[-1] + 1/3*k1[-1] + 4/3*k1 + 1/3*k2"},
    {"ars232", "Ascher, Ruuth, Spiteri 1997", 2, -1, 1, 1,
     "let g = 1-1/sqrt(2)\nlet d = -2*sqrt(2)/3\nk1 = G(y)\nk2 = F(y + g*k1 + g*k2)\n"
     "k3 = G(y + g*k1 + g*k2)\nk4 = F(y + d*k1 + (1-g)*k2 + (1-d)*k3 + g*k4)\n"
     "k5 = G(y + d*k1 + (1-g)*k2 + (1-d)*k3 + g*k4)\ny' = y + (1-g)*k2 + (1-g)*k3 + g*k4 + g*k5"},
    {"ars233", "Ascher, Ruuth, Spiteri 1997", 3, -1, 1, 0,
     "let g = (3+sqrt(3))/6\nk1 = G(y)\nk2 = F(y + g*k1 + g*k2)\nk3 = G(y + g*k1 + g*k2)\n"
     "k4 = F(y + (g-1)*k1 + (1-2*g)*k2 + (2*(1-g))*k3 + g*k4)\n"
     "k5 = G(y + (g-1)*k1 + (1-2*g)*k2 + (2*(1-g))*k3 + g*k4)\n"
     "y' = y + 1/2*k2 + 1/2*k3 + 1/2*k4 + 1/2*k5"},
    {"ars443", "Ascher, Ruuth, Spiteri 1997", 3, -1, 1, 1,
     "k1 = G(y)\nk2 = F(y + 1/2*k1 + 1/2*k2)\nk3 = G(y + 1/2*k1 + 1/2*k2)\n"
     "k4 = F(y + 11/18*k1 + 1/6*k2 + 1/18*k3 + 1/2*k4)\n"
     "k5 = G(y + 11/18*k1 + 1/6*k2 + 1/18*k3 + 1/2*k4)\n"
     "k6 = F(y + 5/6*k1 + (-1/2)*k2 + (-5/6)*k3 + 1/2*k4 + 1/2*k5 + 1/2*k6)\n"
     "k7 = G(y + 5/6*k1 + (-1/2)*k2 + (-5/6)*k3 + 1/2*k4 + 1/2*k5 + 1/2*k6)\n"
     "k8 = F(y + 1/4*k1 + 3/2*k2 + 7/4*k3 + (-3/2)*k4 + 3/4*k5 + 1/2*k6 + (-7/4)*k7 + 1/2*k8)\n"
     "y' = y + 1/4*k1 + 3/2*k2 + 7/4*k3 + (-3/2)*k4 + 3/4*k5 + 1/2*k6 + (-7/4)*k7 + 1/2*k8"},
    {"ssp2-222", "Pareschi, Russo 2005", 2, -1, 1, 1,
     "let g = 1-1/sqrt(2)\nk1 = F(y + g*k1)\nk2 = G(y + g*k1)\n"
     "k3 = F(y + (1-2*g)*k1 + 1*k2 + g*k3)\nk4 = G(y + (1-2*g)*k1 + 1*k2 + g*k3)\n"
     "y' = y + 1/2*k1 + 1/2*k2 + 1/2*k3 + 1/2*k4"},
    {"ssp2-332", "Pareschi, Russo 2005", 2, -1, 1, 1,
     "k1 = F(y + 1/4*k1)\nk2 = G(y + 1/4*k1)\nk3 = F(y + 1/2*k2 + 1/4*k3)\n"
     "k4 = G(y + 1/2*k2 + 1/4*k3)\nk5 = F(y + 1/3*k1 + 1/2*k2 + 1/3*k3 + 1/2*k4 + 1/3*k5)\n"
     "k6 = G(y + 1/3*k1 + 1/2*k2 + 1/3*k3 + 1/2*k4 + 1/3*k5)\n"
     "y' = y + 1/3*k1 + 1/3*k2 + 1/3*k3 + 1/3*k4 + 1/3*k5 + 1/3*k6"},
    {"cnab2", "Ascher, Ruuth, Wetton 1995", 2, -1, 1, 0,
     "k1 = G(y)\nk2 = F(y)\nk3 = F(y + 3/2*k1 - 1/2*k1[-1] + 1/2*k2 + 1/2*k3)\n"
     "y' = y + 3/2*k1 - 1/2*k1[-1] + 1/2*k2 + 1/2*k3"},
    {"mcnab2", "Ascher, Ruuth, Wetton 1995", 2, -1, 1, 0,
     "k1 = G(y)\nk2 = F(y)\nk3 = F(y + 3/2*k1 - 1/2*k1[-1] + 9/16*k3 + 3/8*k2 + 1/16*k2[-1])\n"
     "y' = y + 3/2*k1 - 1/2*k1[-1] + 9/16*k3 + 3/8*k2 + 1/16*k2[-1]"},
    {"sbdf3", "Ascher, Ruuth, Wetton 1995", 3, -1, 0, 0,
     "k1 = G(y)\n"
     "k2 = F(18/11*y - 9/11*y[-1] + 2/11*y[-2] + 18/11*k1 - 18/11*k1[-1] + 6/11*k1[-2] + 6/11*k2)\n"
     "y' = 18/11*y - 9/11*y[-1] + 2/11*y[-2] + 18/11*k1 - 18/11*k1[-1] + 6/11*k1[-2] + 6/11*k2"},
    {"zonneveld", "Zonneveld 1963; Hairer, Norsett, Wanner 1993, table II.4.2", 4, 3, -1, -1,
     "k1 = H(y)\nk2 = H(y + 1/2*k1)\nk3 = H(y + 1/2*k2)\nk4 = H(y + 1*k3)\n"
     "k5 = H(y + 5/32*k1 + 7/32*k2 + 13/32*k3 + (-1/32)*k4)\n"
     "y' = y + 1/6*k1 + 1/3*k2 + 1/3*k3 + 1/6*k4\n"
     "error = ((1/6)-(-1/2))*k1 + ((1/3)-(7/3))*k2 + ((1/3)-(7/3))*k3 + ((1/6)-(13/6))*k4 + ((0)-(-16/3))*k5"},
    {"merson", "Merson 1957; Hairer, Norsett, Wanner 1993, table II.4.1", 4, 3, -1, -1,
     "k1 = H(y)\nk2 = H(y + 1/3*k1)\nk3 = H(y + 1/6*k1 + 1/6*k2)\nk4 = H(y + 1/8*k1 + 3/8*k3)\n"
     "k5 = H(y + 1/2*k1 + (-3/2)*k3 + 2*k4)\ny' = y + 1/6*k1 + 2/3*k4 + 1/6*k5\n"
     "error = ((1/6)-(1/10))*k1 + ((0)-(3/10))*k3 + ((2/3)-(2/5))*k4 + ((1/6)-(1/5))*k5"},
    {"bs54", "Bogacki, Shampine 1996", 5, 4, -1, -1,
     "k1 = H(y)\nk2 = H(y + 1/6*k1)\nk3 = H(y + 2/27*k1 + 4/27*k2)\n"
     "k4 = H(y + 183/1372*k1 + (-162/343)*k2 + 1053/1372*k3)\n"
     "k5 = H(y + 68/297*k1 + (-4/11)*k2 + 42/143*k3 + 1960/3861*k4)\n"
     "k6 = H(y + 597/22528*k1 + 81/352*k2 + 63099/585728*k3 + 58653/366080*k4 + 4617/20480*k5)\n"
     "k7 = H(y + 174197/959244*k1 + (-30942/79937)*k2 + 8152137/19744439*k3 + 666106/1039181*k4 + (-29421/29068)*k5 + 482048/414219*k6)\n"
     "k8 = H(y + 587/8064*k1 + 4440339/15491840*k3 + 24353/124800*k4 + 387/44800*k5 + 2152/5985*k6 + 7267/94080*k7)\n"
     "y' = y + 587/8064*k1 + 4440339/15491840*k3 + 24353/124800*k4 + 387/44800*k5 + 2152/5985*k6 + 7267/94080*k7\n"
     "error = ((587/8064)-(2479/34992))*k1 + ((4440339/15491840)-(123/416))*k3 + ((24353/124800)-(612941/3411720))*k4 + ((387/44800)-(43/1440))*k5 + ((2152/5985)-(2272/6561))*k6 + ((7267/94080)-(79937/1113912))*k7 + ((0)-(3293/556956))*k8"},
    {"tsit5", "Tsitouras 2011", 5, 4, -1, -1,
     "k1 = H(y)\nk2 = H(y + 0.161*k1)\n"
     "k3 = H(y + (-0.008480655492356989)*k1 + 0.335480655492357*k2)\n"
     "k4 = H(y + 2.8971530571054935*k1 + (-6.359448489975075)*k2 + 4.3622954328695815*k3)\n"
     "k5 = H(y + 5.325864828439257*k1 + (-11.748883564062828)*k2 + 7.4955393428898365*k3 + (-0.09249506636175525)*k4)\n"
     "k6 = H(y + 5.86145544294642*k1 + (-12.92096931784711)*k2 + 8.159367898576159*k3 + (-0.071584973281401)*k4 + (-0.028269050394068383)*k5)\n"
     "k7 = H(y + 0.09646076681806523*k1 + 0.01*k2 + 0.4798896504144996*k3 + 1.379008574103742*k4 + (-3.290069515436081)*k5 + 2.324710524099774*k6)\n"
     "y' = y + 0.09646076681806523*k1 + 0.01*k2 + 0.4798896504144996*k3 + 1.379008574103742*k4 + (-3.290069515436081)*k5 + 2.324710524099774*k6\n"
     "error = ((0.09646076681806523)-(0.09646076681806523+0.00178001105222577714))*k1 + ((0.01)-(0.01+0.0008164344596567469))*k2 + ((0.4798896504144996)-(0.4798896504144996-0.007880878010261995))*k3 + ((1.379008574103742)-(1.379008574103742+0.1447110071732629))*k4 + ((-3.290069515436081)-(-3.290069515436081-0.5823571654525552))*k5 + ((2.324710524099774)-(2.324710524099774+0.45808210592918697))*k6 + ((0)-(-1/66))*k7"},
    {"rkf78", "Fehlberg 1968", 8, 7, -1, -1,
     "k1 = H(y)\nk2 = H(y + 2/27*k1)\nk3 = H(y + 1/36*k1 + 1/12*k2)\n"
     "k4 = H(y + 1/24*k1 + 1/8*k3)\nk5 = H(y + 5/12*k1 + (-25/16)*k3 + 25/16*k4)\n"
     "k6 = H(y + 1/20*k1 + 1/4*k4 + 1/5*k5)\n"
     "k7 = H(y + (-25/108)*k1 + 125/108*k4 + (-65/27)*k5 + 125/54*k6)\n"
     "k8 = H(y + 31/300*k1 + 61/225*k5 + (-2/9)*k6 + 13/900*k7)\n"
     "k9 = H(y + 2*k1 + (-53/6)*k4 + 704/45*k5 + (-107/9)*k6 + 67/90*k7 + 3*k8)\n"
     "k10 = H(y + (-91/108)*k1 + 23/108*k4 + (-976/135)*k5 + 311/54*k6 + (-19/60)*k7 + 17/6*k8 + (-1/12)*k9)\n"
     "k11 = H(y + 2383/4100*k1 + (-341/164)*k4 + 4496/1025*k5 + (-301/82)*k6 + 2133/4100*k7 + 45/82*k8 + 45/164*k9 + 18/41*k10)\n"
     "k12 = H(y + 3/205*k1 + (-6/41)*k6 + (-3/205)*k7 + (-3/41)*k8 + 3/41*k9 + 6/41*k10)\n"
     "k13 = H(y + (-1777/4100)*k1 + (-341/164)*k4 + 4496/1025*k5 + (-289/82)*k6 + 2193/4100*k7 + 51/82*k8 + 33/164*k9 + 12/41*k10 + 1*k12)\n"
     "y' = y + 34/105*k6 + 9/35*k7 + 9/35*k8 + 9/280*k9 + 9/280*k10 + 41/840*k12 + 41/840*k13\n"
     "error = ((0)-(41/840))*k1 + ((0)-(41/840))*k11 + ((41/840)-(0))*k12 + ((41/840)-(0))*k13"},
    {"nystrom5", "Nystrom 1925", 5, -1, -1, -1,
     "k1 = H(y)\nk2 = H(y + 1/3*k1)\nk3 = H(y + 4/25*k1 + 6/25*k2)\n"
     "k4 = H(y + 1/4*k1 + (-3)*k2 + 15/4*k3)\n"
     "k5 = H(y + 2/27*k1 + 10/9*k2 + (-50/81)*k3 + 8/81*k4)\n"
     "k6 = H(y + 2/25*k1 + 12/25*k2 + 2/15*k3 + 8/75*k4)\n"
     "y' = y + 23/192*k1 + 125/192*k3 + (-27/64)*k5 + 125/192*k6"},
    {"ab6", "Bashforth, Adams 1883", 6, -1, -1, -1,
     "k1 = H(y)\n"
     "y' = y + 4277/1440*k1 - 2641/480*k1[-1] + 4991/720*k1[-2] - 3649/720*k1[-3] + 959/480*k1[-4] - 95/288*k1[-5]"},
    {"nystrom3", "Nystrom 1925", 3, -1, -1, -1,
     "k1 = H(y)\ny' = y[-1] + 7/3*k1 - 2/3*k1[-1] + 1/3*k1[-2]"},
    {"pseudo-rk3", "Byrne, Lambert 1966", 3, -1, -1, -1,
     "k1 = H(y)\nk2 = H(y + 5/6*k1)\ny' = y + k1 + 1/2*k2 - 1/2*k2[-1]"},
    {"etd3rk", "Cox, Matthews 2002", 3, -1, -1, -1,
     "linear F\nk1 = F(y)\nk2 = G(y)\nk3 = phi1(1/2 F)(1/2*k1 + 1/2*k2)\nk4 = G(y + k3)\n"
     "k5 = phi1(F)(k1 - k2 + 2*k4)\nk6 = G(y + k5)\nk7 = phi1(F)(k1 + k2)\n"
     "k8 = phi2(F)(-3*k2 + 4*k4 - k6)\nk9 = phi3(F)(4*k2 - 8*k4 + 4*k6)\ny' = y + k7 + k8 + k9"},
    {"lawson4", "Lawson 1967", 4, -1, -1, -1,
     "linear F\nk1 = F(y)\nk2 = G(y)\nk3 = phi1(1/2 F)(1/2*k1)\nk4 = phi0(1/2 F)(k2)\n"
     "k5 = G(y + k3 + 1/2*k4)\nk6 = G(y + k3 + 1/2*k5)\nk7 = phi1(F)(k1)\nk8 = phi0(1/2 F)(k6)\n"
     "k9 = G(y + k7 + k8)\nk10 = phi0(F)(k2)\nk11 = phi0(1/2 F)(k5)\n"
     "y' = y + k7 + 1/6*k10 + 1/3*k11 + 1/3*k8 + 1/6*k9"},
    {"exprb32", "Hochbruck, Ostermann, Schweitzer 2009", 3, -1, -1, -1,
     "k1 = H(y)\nk2 = phi1(H)(k1)\nk3 = H(y + k2)\nk4 = phi0(H)(k1)\nk5 = phi3(H)(k3 - k4)\n"
     "y' = y + k2 + 2*k5"},
    {"suzuki4", "Suzuki 1990", 4, -1, -1, -1,
     "let p = 1/(4-4^(1/3))\nflow (p/2) F\nflow p G\nflow p F\nflow p G\nflow ((1-3*p)/2) F\n"
     "flow (1-4*p) G\nflow ((1-3*p)/2) F\nflow p G\nflow p F\nflow p G\nflow (p/2) F"},
    {"mclachlan2", "McLachlan 1995", 2, -1, -1, -1,
     "let a = 0.19318332750378357\nflow a F\nflow (1/2) G\nflow (1-2*a) F\nflow (1/2) G\nflow a F"},
    {"blanes-moan4", "Blanes, Moan 2002", 4, -1, -1, -1,
     "let a1 = 0.0792036964311957\nlet a2 = 0.353172906049774\nlet a3 = -0.0420650803577195\n"
     "let a4 = 1-2*(a1+a2+a3)\nlet b1 = 0.209515106613362\nlet b2 = -0.143851773179818\n"
     "let b3 = 1/2-(b1+b2)\nflow a1 F\nflow b1 G\nflow a2 F\nflow b2 G\nflow a3 F\nflow b3 G\n"
     "flow a4 F\nflow b3 G\nflow a3 F\nflow b2 G\nflow a2 F\nflow b1 G\nflow a1 F"},
    {"pefrl", "Omelyan, Mryglod, Folk 2002", 4, -1, -1, -1,
     "let x = 0.1786178958448091\nlet l = -0.2123418310626054\nlet c = -0.06626458266981849\n"
     "flow x F\nflow ((1-2*l)/2) G\nflow c F\nflow l G\nflow (1-2*(c+x)) F\nflow l G\nflow c F\n"
     "flow ((1-2*l)/2) G\nflow x F"},
    {"yoshida6", "Yoshida 1990", 6, -1, -1, -1,
     "let w1 = -1.17767998417887100695\nlet w2 = 0.23557321335935813368\n"
     "let w3 = 0.78451361047755726382\nlet w0 = 1-2*(w1+w2+w3)\nflow (w3/2) F\nflow w3 G\n"
     "flow ((w3+w2)/2) F\nflow w2 G\nflow ((w2+w1)/2) F\nflow w1 G\nflow ((w1+w0)/2) F\n"
     "flow w0 G\nflow ((w1+w0)/2) F\nflow w1 G\nflow ((w2+w1)/2) F\nflow w2 G\n"
     "flow ((w3+w2)/2) F\nflow w3 G\nflow (w3/2) F"},
};
enum { CLASSICS = sizeof classics / sizeof *classics };

/* Returns whether a term is a slope of the other's stage and step: those of H = F + G have one coefficient. */
static int same_slope(const Table *t, const Term *a, const Term *b)
{
    return a == b || (table_over(t, OP_H) && a->eval >= 0 && b->eval >= 0 && a->past == b->past &&
                      t->eval[a->eval].stage == t->eval[b->eval].stage);
}

static void shift(const Table *t, Row *r, const Term *like, long by)
{
    OWN_RATIONAL x;
    mpq_init(x);
    mpq_set_si(x, by, 16);
    for (size_t k = 0; k < r->terms; k++)
        if (same_slope(t, &r->term[k], like)) mpq_add(r->term[k].c, r->term[k].c, x);
}

/* Shifts every coefficient of the row by 1/16, one at a time: the order or the leading error differs. */
static void mutate(const Table *t, Row *r, const Theory *before, size_t *mutants)
{
    for (size_t k = 0; k < r->terms; k++) {
        shift(t, r, &r->term[k], 1);
        Theory after = theory_of(t, TREE_MAX);
        if (after.order == before->order &&
            fabs(after.error_norm2 / before->error_norm2 - 1) < 1e-6)
            fail_msg("%s: a mutant is the same", t->name);
        shift(t, r, &r->term[k], -1);
        ++*mutants;
    }
}

/* Every scheme has its published properties, and no coefficient is without effect. */
TEST(published_properties)
{
    size_t mutants = 0;
    for (size_t i = 0; i < CLASSICS; i++) {
        const Classic *c = &classics[i];
        OWN_TABLE *whole = scheme(c->text), *t = freeze(whole); /* without the pair */
        Theory th = theory_of(t, TREE_MAX);
        Embedded e;
        Stiff s;
        assert_int_equal(theory_embedded(whole, TREE_MAX, &e), 0);
        assert_int_equal(stability_stiff(t, &s), 0);
        int stiff = table_implicit(t) ? s.a_stable == c->a && s.l_stable == c->l : c->a < 0;
        if (th.order != c->order || e.order != c->embedded || !stiff || !th.zero_stable)
            fail_msg("%s: order %d, embedded %d, A %d, L %d", c->name, th.order, e.order,
                     s.a_stable, s.l_stable);
        for (size_t p = 0; p < t->points; p++) mutate(t, &t->point[p].row, &th, &mutants);
        if (!t->flows) mutate(t, &t->update, &th, &mutants);
    }
    print_message("%zu mutants\n", mutants);
    assert_true(mutants > 500);
}

/* The measured order agrees on Kepler's problem, for schemes with a linear F on fisher. The slope of Tsitouras's method
 * is not yet 5 where its errors reach rounding on two other systems, but its constant is the predicted one. With an order
 * too low or too high there is no such constant. */
TEST(measured_orders)
{
    static const char *const systems[] = {"forced", "vortex"};
    for (size_t i = 0; i < CLASSICS; i++) {
        OWN_TABLE *t = frozen(classics[i].text);
        OWN_SYSTEM *s = make(t->linear ? "fisher" : "kepler");
        OWN_REALS *e = numbers(2 * s->n * s->d);
        Prediction p;
        OWN_STUDY m = measured(t, s, (OrderOptions){.halvings = 6}, classics[i].order, 1);
        assert_int_equal(order_predict(t, s, 0, classics[i].order, 1, &p, e), 0);
        int match = order_match(&m, p.global, p.accuracy, e + m.N);
        if (m.verdict != VERDICT_AGREE || match == VERDICT_DISAGREE)
            fail_msg("%s: %g, %s; constant %g, predicted %g", classics[i].name, m.slope,
                     verdict_name(m.verdict), m.constant, p.global);
        for (int k = 0; k < 6 && strcmp(classics[i].name, "tsit5") == 0; k++) {
            OWN_SYSTEM *other = make(systems[k % 2]);
            int order = 4 + k / 2;
            OWN_STUDY n = measured(t, other, (OrderOptions){.halvings = 7}, order, 1);
            if ((n.verdict == VERDICT_AGREE) != (order == 5))
                fail_msg("order %d on %s: %s", order, other->name, verdict_name(n.verdict));
        }
    }
}

TEST_MAIN(zoo_begin, zoo_end)
