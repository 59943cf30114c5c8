// durable bytes=8
#include <landfall.h>
struct Slot { long key, value[2]; };
template <class T> struct Table {
  T slot[8];
  void insert(long key) {
    for (auto &s : slot) {
      if (s.key)
        continue;
      s.value[1] /*@*/= key;
      s.key /*@before*/= key;
      lf_persist(&s, sizeof s);
      return;
    }
  }
};
template struct Table<Slot>;
