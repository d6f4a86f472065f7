/*
 * race_place.c - places of accesses for oshcc --race: each file, line and routine has a number of its own, and the number says them.
 */
#include "race/place.h"

#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "race/node.h"

struct race_node race_node;

/* Catches: a key that two places share, by which a report names another file's line. */
static void files_and_lines(void)
{
    enum { FILES = 32, LINES = 200 };
    static uint32_t place[FILES][LINES];
    char file[FILES][8];
    int wrong = 0;
    for (unsigned f = 0; f < FILES; f++) {
        snprintf(file[f], sizeof file[f], "%u.c", f);
        for (uint32_t line = 0; line < LINES; line++)
            place[f][line] = race_place_of_kernel("sum", file[f], line);
    }
    for (unsigned f = 0; f < FILES; f++)
        for (uint32_t line = 0; line < LINES; line++) {
            const char *routine, *module;
            uint64_t offset;
            race_place_read(place[f][line], &routine, &module, &offset);
            wrong += !place[f][line] || strcmp(module, file[f]) != 0 || offset != line || strcmp(routine, RACE_IN_KERNEL "sum") != 0;
            wrong += race_place_of_kernel("sum", file[f], line) != place[f][line];
        }
    CHECKF(wrong == 0, "%d of %d places are others", wrong, FILES * LINES);
}

/* Catches: an atomic that has the place of a load of its line. */
static void atomics(void)
{
    uint32_t load = race_place_of_kernel("sum", "a.c", 7), atomic = race_place_atomic(load, 8);
    CHECK(load && atomic && load != atomic && race_node.shared->place[atomic].atomic == 8);
    CHECK(race_place_atomic(load, 8) == atomic);
}

int main(void)
{
    race_node.shared = calloc(1, sizeof *race_node.shared);
    if (!race_node.shared)
        return 99;
    RUN(files_and_lines, "each file, line and routine has a place of its own");
    RUN(atomics, "an atomic has a place of its own");
    return tap_end();
}
