#ifndef NACRE_ENGINE_H
#define NACRE_ENGINE_H

#include "nacre/nacre.h"
#include "places.h"
#include "plans.h"

#define EXECUTORS_MAX 8

struct nacre_engine {
    struct nacre_places places;
    struct nacre_executor *executors[EXECUTORS_MAX];
    uint32_t executor_count;
    struct nacre_audit *audit; /* NULL only when it was switched off for measuring */
    struct nacre_plans *plans;
    uint8_t run_prefix[8]; /* random; with the number of the run it is the run's id */
    _Atomic uint64_t runs;
};

#endif
