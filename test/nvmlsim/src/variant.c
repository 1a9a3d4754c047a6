/* The only object that differs between the variants of the library: the simulated driver branch. */
#include "sim.h"

#ifndef NVMLSIM_DRIVER
#define NVMLSIM_DRIVER 580
#endif

const int sim_driver = NVMLSIM_DRIVER;
