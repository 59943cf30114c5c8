static inline void set_from_header(int *p, int v) {
  *p = v;
}
