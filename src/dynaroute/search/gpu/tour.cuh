// The routes of a chain in memory, and the instance they belong to.
//
// Nodes: customers are 1 .. size; the depot has one node per route, nodes .. nodes + slots - 1. Routes are rings of
// nodes, linked both ways. Customers without a route, and depots of unused routes, have the route number `slots`, which
// has no free capacity and counts as ruined.
#pragma once
#include "launch.cuh"
#include "rules.cuh"

#define BIAS (1 << 30)        // makes keys of possibly negative lengths positive; lengths are below 2^25
#define MOST_REMOVED 64       // most customers removed in an iteration
#define LONGEST_STRING 10     // most customers removed from a route
#define WINDOW (2 * LONGEST_STRING + 5)
#define MIDDLE (LONGEST_STRING + 2)
#define MEAN_REMOVED 10.0f
#define BLINKS 42949673u      // out of 2^32: one position in a hundred is skipped

template <class Index>
struct Tour {
  int* leg;    // (nodes + slots) to the next node
  int* room;   // (slots + 1) free capacity
  Parts parts;
  Index* prev;
  Index* next;
  Index* route;
};

template <class Index>
struct Workplace {
  Tour<Index> tour;
  Quad* block;       // memory of the tour
  Quad* backup;      // the tour to restore if the iteration is rejected
  u64* order;        // (MOST_REMOVED) keys of the insertion order
  int* away;         // (nodes + slots) distances to one node
  int* lost;         // (slots + 1) customers that routes lost
  int* reach;        // (2)
  Index* removed;    // (MOST_REMOVED)
  Index* sorted;     // (MOST_REMOVED)
  Index* window;     // (WINDOW) part of a route
  u8* ruined;        // (slots + 1)
};

struct Problem {
  const int* lengths;
  const int* demands;
  const u16* near;
  int size, nodes, slots, own_slots, near_count;
  RulesOf rules;
  // of the kinds of vehicles, if there are any
  const Launch* launch;
  const int* slot_kinds;
  int first_row;
};

template <class Index>
FN Tour<Index> tour_at(void* block, int nodes, int slots) {
  int all = nodes + slots;
  int* words = (int*)block;
  int* own = words + all + slots + 1;
  Index* links = (Index*)(own + RULE_WORDS(all, slots));
  return Tour<Index>{words, words + all, parts_at(own, all), links, links + all, links + 2 * all};
}

template <class Index>
FN Workplace<Index> workplace_at(char* scratch, const Launch& launch) {
  int all = launch.nodes + launch.slots, bytes = launch.words * 4;
  Workplace<Index> at;
  at.block = (Quad*)scratch;
  at.backup = (Quad*)(scratch + bytes);
  at.order = (u64*)(scratch + 2 * bytes);
  at.away = (int*)(at.order + MOST_REMOVED);
  at.lost = at.away + all;
  at.reach = at.lost + launch.slots + 1;
  at.removed = (Index*)(at.reach + 2);
  at.sorted = at.removed + MOST_REMOVED;
  at.window = at.sorted + MOST_REMOVED;
  at.ruined = (u8*)(at.window + WINDOW);
  at.tour = tour_at<Index>(scratch, launch.nodes, launch.slots);
  return at;
}

FN void copy_block(Quad* to, const Quad* from, int words) {
  for (int i = LANE; i < words / 4; i += WIDTH) to[i] = from[i];
  SYNC();
}

FN void load_block(Quad* to, const u32* from, int words) {
  for (int i = LANE; i < words / 4; i += WIDTH) to[i] = load_quad((const Quad*)from + i);
  SYNC();
}

FN int place_of(const Problem& problem, int node) { return node < problem.nodes ? node : 0; }

// The row, among those of all instances and kinds, of the kind that drives a route.
FN int row_of_route(const Problem& problem, int route) { return problem.first_row + problem.slot_kinds[route]; }

FN bool ends_open(const Problem& problem, int node) {
  if (!HAS_OPEN || node < problem.nodes) return false;
  if (HAS_KINDS) return problem.launch->open_routes[row_of_route(problem, node - problem.nodes)];
  return problem.rules.is_open;
}

FN const int* row_of(const Problem& problem, int node) {
  return problem.lengths + (i64)place_of(problem, node) * problem.nodes;
}

// The lengths from a node, as the kind that drives a route sees them.
FN const int* row_on(const Problem& problem, int route, int node) {
  if (!HAS_KINDS) return row_of(problem, node);
  return row_of(problem, node) + (i64)problem.slot_kinds[route] * problem.nodes * problem.nodes;
}

FN int length_between(const Problem& problem, int route, int one, int other) {
  if (ends_open(problem, other)) return 0;
  return row_on(problem, route, one)[place_of(problem, other)];
}

template <class Index>
FN int count_routes(const Problem& problem, const Tour<Index>& tour) {
  int used = 0;
  for (int r = LANE; r < problem.slots; r += WIDTH) used += tour.route[problem.nodes + r] != problem.slots;
  return ADD(used);
}

template <class Index>
FN i64 total_of(const Problem& problem, const Tour<Index>& tour) {
  i64 sum = 0;
  for (int u = LANE; u < problem.nodes + problem.slots; u += WIDTH) sum += tour.leg[u];
  return ADD64(sum);
}

// One lane only: link two nodes.
template <class Index>
FN void join(const Tour<Index>& tour, int one, int other, int length) {
  tour.next[one] = (Index)other;
  tour.prev[other] = (Index)one;
  tour.leg[one] = length;
}

// One lane only: the same on a route, looking up the length.
template <class Index>
FN void link(const Problem& problem, const Tour<Index>& tour, int route, int one, int other) {
  join(tour, one, other, length_between(problem, route, one, other));
}

FN int count_kinds(const Launch& launch) { return HAS_KINDS ? launch.kinds : 1; }

// The rules of an instance or, if vehicles differ, of one of its kinds.
FN RulesOf rules_of(const Launch& launch, int row) {
  RulesOf rules = {};
  if (!RULES) return rules;
  i64 nodes = launch.nodes, first = row * nodes;
  rules.legs = launch.legs + first * nodes;
  rules.durations = launch.durations + first * nodes;
  rules.early = launch.early + first;
  rules.late = launch.late + first;
  rules.service = launch.service + first;
  rules.pickups = launch.pickups + first;
  rules.longest_distance = launch.longest_distances[row];
  rules.longest_duration = launch.longest_durations[row];
  rules.capacity = launch.capacities[row];
  rules.is_open = launch.open_routes[row];
  rules.is_last = launch.pickups_last[row];
  return rules;
}

FN RulesOf rules_on(const Problem& problem, int route) {
  return HAS_KINDS ? rules_of(*problem.launch, row_of_route(problem, route)) : problem.rules;
}
