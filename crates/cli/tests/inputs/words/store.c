/* Persisted too late with -DLATE. */
#include "store.h"

void put(struct table *table, long key, long value) {
  struct entry *entry = &table->slots[table->count];
  entry->key = key;
  entry->value = value;
  entry->length = 8;
#ifndef LATE
  persist(entry, sizeof *entry);
#endif
  table->count++;
  persist(&table->count, sizeof table->count);
#ifdef LATE
  persist(entry, sizeof *entry);
#endif
}
