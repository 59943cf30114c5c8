#include "driver.h"
#include "src/CCEH.h"

size_t perfCounter;

static CCEH *of(index_type *index) { return reinterpret_cast<CCEH *>(index); }
static index_type *create() { return reinterpret_cast<index_type *>(new CCEH(2)); }
static void open(index_type *) {}
static void ready(index_type *, int) {}
static uint64_t get(index_type *index, uint64_t key) { return reinterpret_cast<uint64_t>(of(index)->Get(key)); }
static void put(index_type *index, uint64_t key, int) { of(index)->Insert(key, reinterpret_cast<Value_t>(key)); }
