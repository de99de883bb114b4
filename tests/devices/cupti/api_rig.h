/* What the tests of the library and of its calls share. */
#ifndef TESTS_DEVICES_CUPTI_API_RIG_H
#define TESTS_DEVICES_CUPTI_API_RIG_H

#include "devices/cuda/cupti/cupti_allowlist.h"
#include "fake_cupti.h"
#include "pd_test.h"

#include <dlfcn.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static cupti_api api;
static char why[1024];

#endif
