/* The one object that differs between the variants of the library: the driver branch it stands for. */
#include "sim.h"

#ifndef NVMLSIM_DRIVER
#define NVMLSIM_DRIVER 580
#endif

const int sim_driver = NVMLSIM_DRIVER;
