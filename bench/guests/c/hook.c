/* The policy of the benchmarks in C: no recursive removal of the root. */
#include "belay.h"

BELAY_PHASE(pre_tool) {
  belay_heap_next = 0; /* so that an instance which is used again without a reset needs no more memory */
  belay_text args = belay_json_member(belay_input(), BELAY_T("args"));
  belay_text command = belay_json_text(belay_json_member(args, BELAY_T("command")));
  if (belay_find(command, BELAY_T("rm -rf /")) >= 0) belay_block(BELAY_T("no recursive removal of the root"));
  return BELAY_OK;
}
