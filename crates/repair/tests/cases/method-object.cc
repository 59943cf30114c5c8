// durable
#include <landfall.h>
#include <optional>
struct Entry { std::optional<long> extra; };
struct Table { Entry entries[4]; };
void f(Table *t, int n) {
  t->entries[n].extra.emplace/*@*/(7);
}
