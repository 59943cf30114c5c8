#include <landfall.h>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
// Exceptions, containers and persistent objects in one program.
struct Record { long id; int state; char tag[8]; };
static Record *record() { return static_cast<Record *>(lf_pm(sizeof(Record))); }
static void commit(Record *r, long id) {
  r->id = id;
  lf_persist(&r->id, sizeof r->id);
  if (id < 0) throw std::invalid_argument("negative");
  __atomic_store_n(&r->state, 1, __ATOMIC_RELEASE);
  lf_persist(&r->state, sizeof r->state);
}
int main() {
  std::map<int, std::string> seen;
  for (long id : {3l, -1l}) {
    try { commit(record(), id); seen[id] = "kept"; } catch (std::exception &e) { seen[id] = e.what(); }
  }
  for (auto &entry : seen) std::cout << entry.first << " " << entry.second << "\n";
  record()->tag[3] = 'x';
  return __atomic_load_n(&record()->state, __ATOMIC_ACQUIRE);
}
