/* tsan.c - see tsan.h. */
#include "host/util/tsan.h"

char shi_tsan_order;
