/* A library compiled like the program: what string functions store for it is told at its own lines. */
#include "record.h"
#include <landfall.h>
#include <string.h>

void put(struct record *record, const char *name) {
  strncpy(record->name, name, sizeof record->name - 1);
  __atomic_store_n(&record->valid, 1, __ATOMIC_RELEASE);
  lf_persist(record, sizeof *record);
}
