// A base of the stand-in's classes that only tell what they were made with.
#pragma once

#import <Foundation/Foundation.h>

@interface StandinHolder : NSObject {
 @public
  NSDictionary* held;  // by the names of the properties
}
+ (instancetype)holding:(NSDictionary*)values;
@end
