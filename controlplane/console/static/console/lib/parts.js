// What views add to others' pages, without these knowing them. Places:
//   "list:tools"     {tenant, resource, namespace}         beside a list's own tools
//   "list:selected"  {tenant, resource, objects, clear}    for rows that are selected: objects is an
//                                                          array of their metadata (PartialObjectMetadata)
//   "object:tools"   {tenant, resource, object, current}   on an object's page: object as it was when
//                                                          asked, current() as it is now
//   "tenant"         {tenant, signal}                      panels of a tenant's page

const makers = new Map();

/** maker: a function of the place's context that returns nodes, or null for nothing. */
export function contribute(place, maker) {
  makers.set(place, [...(makers.get(place) ?? []), maker]);
}

/** What all have to say at a place, in the order in which they came. */
export function parts(place, context) {
  return (makers.get(place) ?? []).map((maker) => maker(context));
}
