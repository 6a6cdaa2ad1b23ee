/* The policy of the benchmarks as an Extism plugin: its input lies in the kernel's memory, eight bytes at a time. */
#include "belay.h"

#define EXTISM(name) __attribute__((import_module("extism:host/env"), import_name(#name)))
EXTISM(input_length) uint64_t extism_input_length(void);
EXTISM(input_load_u64) uint64_t extism_input_load_u64(uint64_t at);
EXTISM(input_load_u8) uint8_t extism_input_load_u8(uint64_t at);

__attribute__((export_name("decide"))) int32_t decide(void) {
  belay_heap_next = 0;
  uint64_t n = extism_input_length(), i = 0;
  char *p = (char *)belay_alloc((uint32_t)n);
  for (; i + 8 <= n; i += 8) {
    uint64_t word = extism_input_load_u64(i);
    for (int b = 0; b < 8; b++) p[i + b] = (char)(word >> (8 * b));
  }
  for (; i < n; i++) p[i] = (char)extism_input_load_u8(i);
  belay_text args = belay_json_member((belay_text){p, (uint32_t)n}, BELAY_T("args"));
  belay_text command = belay_json_text(belay_json_member(args, BELAY_T("command")));
  return belay_find(command, BELAY_T("rm -rf /")) >= 0; /* what a plugin returns is its exit code */
}
