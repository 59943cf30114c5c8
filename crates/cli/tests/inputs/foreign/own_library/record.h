struct record {
  _Alignas(64) char name[40];
  _Alignas(64) long valid;
};

void put(struct record *record, const char *name);
