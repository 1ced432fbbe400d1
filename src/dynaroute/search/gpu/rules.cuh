// Rules beyond capacity: time windows, longest durations and distances, pickups, open routes, kinds of vehicles. The macro
// RULES says which are compiled; without any, the search is the plain one.
//
// Times and distances are whole ticks (`RuleBatch`), so that a GPU and its emulation decide alike. Insertions are judged
// in constant time by what is known before and after a leg: nodes are depots and customers, and everything is about the
// leg that leaves a node.
//
// A kind of vehicle sees an instance of its own: with its depot as node 0, its capacity and limits, and legs that cost what
// it costs, half of its fixed price on each leg at the depot. Every slot belongs to a kind, so a route has one.
#pragma once

#ifndef RULES
#define RULES 0
#endif
#define HAS_TIMES ((RULES & 1) != 0)      // windows, and the time to serve
#define HAS_DURATIONS ((RULES & 2) != 0)  // longest durations of routes
#define HAS_DISTANCES ((RULES & 4) != 0)  // longest distances of routes
#define HAS_PICKUPS ((RULES & 8) != 0)    // loads brought back
#define HAS_OPEN ((RULES & 16) != 0)      // routes that end at their last customers
#define HAS_KINDS ((RULES & 32) != 0)     // vehicles that differ: in capacity, depot, limits, prices or number

#define NEVER (1 << 30)  // ticks

// The words of a tour's memory that rules need.
#define RULE_ARRAYS ((HAS_TIMES ? 2 : 0) + (HAS_DURATIONS ? 6 : 0) + (HAS_PICKUPS ? 2 : 0))
#define RULE_WORDS(all, slots) (RULE_ARRAYS * (all) + (HAS_DISTANCES ? (slots) + 1 : 0))

// What is known of each route's parts, (nodes + slots) each.
struct Parts {
  int* ready;        // earliest departure, after serving
  int* due;          // latest arrival at the node, for which the rest of the route is in time
  int *spent, *early, *late;                    // of the part up to a node: least duration, first and last departure
  int *spent_after, *early_after, *late_after;  // the same of the part from a node on
  int* peak_before;  // largest load up to the leg that leaves the node
  int* peak_after;   // largest load from that leg on
  int* spare;        // (slots + 1) ticks of distance that are left
};

// A part of a route: its least duration, and the first and the last time to begin it for which that is true.
struct Span {
  int spent, early, late;
};

struct RulesOf {
  const int *legs, *durations, *early, *late, *service, *pickups;
  int longest_distance, longest_duration, capacity;
  bool is_open, is_last;
};

FN Parts parts_at(int* words, int all) {
  Parts at = {};
  int* next = words;
  auto take = [&](bool is_there, int count) {
    int* here = is_there ? next : nullptr;
    if (is_there) next += count;
    return here;
  };
  at.ready = take(HAS_TIMES, all);
  at.due = take(HAS_TIMES, all);
  at.spent = take(HAS_DURATIONS, all);
  at.early = take(HAS_DURATIONS, all);
  at.late = take(HAS_DURATIONS, all);
  at.spent_after = take(HAS_DURATIONS, all);
  at.early_after = take(HAS_DURATIONS, all);
  at.late_after = take(HAS_DURATIONS, all);
  at.peak_before = take(HAS_PICKUPS, all);
  at.peak_after = take(HAS_PICKUPS, all);
  at.spare = take(HAS_DISTANCES, 0);
  return at;
}

FN int larger(int one, int other) { return one > other ? one : other; }
FN int smaller(int one, int other) { return one < other ? one : other; }

// One part of a route and then another, `way` apart; both are in time.
FN Span follow(Span first, int way, Span second) {
  int passed = first.spent + way;
  int waiting = larger(0, second.early - passed - first.late);
  return Span{
      passed + second.spent + waiting,
      larger(second.early - passed, first.early) - waiting,
      smaller(second.late - passed, first.late)};
}
