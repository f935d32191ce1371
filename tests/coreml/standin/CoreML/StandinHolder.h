// A base for the stand-in's classes that only return the values they were made with.
#pragma once

#import <Foundation/Foundation.h>

@interface StandinHolder : NSObject {
 @public
  NSDictionary* held;  // by property name
}
+ (instancetype)holding:(NSDictionary*)values;
@end
